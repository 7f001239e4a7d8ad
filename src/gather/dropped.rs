//! Items that a selection made while gathering left out: all are counted, the best are kept.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};

use super::report::DroppedCounts;
use crate::diagnostics::{ExcludedItem, SelectionReport};
use crate::model::{ContextItem, ExclusionReason, descending_key};
use crate::pipeline::Explain;
use crate::slicer::{Sequence, StreamItem};

/// Ascending from the best item to the worst.
type Rank = (u64, Sequence);

fn rank(score: f64, sequence: Sequence) -> Rank {
    (descending_key(score), sequence)
}

/// The best dropped items; memory for no more of them than the sample.
pub(crate) struct DroppedItems {
    limit: usize,
    /// The worst of the sample is the last.
    sample: BTreeMap<Rank, StreamItem<ContextItem>>,
    negative_tokens: usize,
    scored: usize,
    /// The best item of every content that was scored, by the content's hash; none when copies
    /// are items of their own. An item may be long gone when a better copy arrives.
    best: Option<HashMap<u64, Rank>>,
}

impl DroppedItems {
    pub(crate) fn new(limit: usize, deduplicating: bool) -> Self {
        Self {
            limit,
            sample: BTreeMap::new(),
            negative_tokens: 0,
            scored: 0,
            best: deduplicating.then(HashMap::default),
        }
    }

    /// Number of dropped items that are kept.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Takes note of an item that competes for a place.
    pub(crate) fn scored(&mut self, sequence: Sequence, score: f64, item: &ContextItem) {
        self.scored += 1;
        if let Some(best) = &mut self.best {
            let rank = rank(score, sequence);
            let best = best.entry(item.content_hash()).or_insert(rank);
            *best = rank.min(*best);
        }
    }

    /// Takes an item that is out for good.
    pub(crate) fn add(&mut self, dropped: StreamItem<ContextItem>) {
        self.negative_tokens += usize::from(dropped.tokens < 0);
        if self.limit > 0 {
            self.sample.insert(rank(dropped.score, dropped.sequence), dropped);
        }
        if self.sample.len() > self.limit {
            self.sample.pop_last();
        }
    }

    /// Numbers of items left out, if so many of the scored ones are selected.
    pub(crate) fn counts(&self, selected: usize) -> DroppedCounts {
        let unique = self.best.as_ref().map_or(self.scored, HashMap::len);
        DroppedCounts {
            over_budget: unique.saturating_sub(selected),
            duplicates: self.scored - unique,
            negative_tokens: self.negative_tokens,
        }
    }

    /// Adds the sample to a report, with the reasons a batch would give.
    pub(crate) fn explain_into(
        self,
        report: &mut SelectionReport,
        explain: &Explain<'_>,
        used_tokens: i64,
    ) {
        let available = explain.target().saturating_sub(used_tokens);
        let best = self.best.unwrap_or_default();
        report.exclude(self.sample.into_iter().map(|(rank, dropped)| {
            let StreamItem { score, payload: item, .. } = dropped;
            let reason = match item.tokens() {
                tokens if tokens < 0 => ExclusionReason::NegativeTokens { tokens },
                _ if best.get(&item.content_hash()).is_some_and(|best| *best < rank) => {
                    ExclusionReason::Deduplicated { deduplicated_against: item.shared_content() }
                }
                tokens => explain.why_not(tokens, available),
            };
            ExcludedItem::new(item, score, reason)
        }));
    }
}

impl DroppedCounts {
    /// Counts of candidates before anything is selected: copies and negative tokens are out, and the
    /// unique others are counted as over the budget.
    pub(crate) fn before(items: &[ContextItem], deduplicating: bool) -> Self {
        let mut counts = Self::default();
        let mut seen: HashSet<u64> = HashSet::default();
        for item in items {
            if item.tokens() < 0 {
                counts.negative_tokens += 1;
            } else if item.pinned() {
                continue;
            } else if !deduplicating || seen.insert(item.content_hash()) {
                counts.over_budget += 1;
            } else {
                counts.duplicates += 1;
            }
        }
        counts
    }

    /// The counts when so many of the unique candidates are selected.
    pub(crate) fn after(mut self, selected: usize) -> Self {
        self.over_budget = self.over_budget.saturating_sub(selected);
        self
    }
}
