//! What a streaming selection left out: all of it counted, the best of it kept.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::diagnostics::{ExcludedItem, ExclusionReason, SelectionReport};
use crate::model::ContextItem;
use crate::order;
use crate::pipeline::Explain;
use crate::slicer::Sequence;

/// How many items a streaming selection left out, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DroppedCounts {
    /// There was no room.
    pub over_budget: usize,
    /// Another item had the same content and a better score.
    pub duplicates: usize,
    /// The token count was negative.
    pub negative_tokens: usize,
}

/// Why an item was dropped, as far as it is known at the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    NegativeTokens,
    Duplicate,
    Unfit,
}

pub(super) struct Dropped {
    pub(super) sequence: Sequence,
    pub(super) score: f64,
    pub(super) item: ContextItem,
    pub(super) why: Why,
}

impl Dropped {
    /// Ascending from the best to the worst.
    fn rank(&self) -> (u64, Sequence) {
        (order::descending(self.score), self.sequence)
    }
}

impl PartialEq for Dropped {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Dropped {}

impl PartialOrd for Dropped {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Dropped {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// The best dropped items; memory for no more than the sample.
pub(super) struct DroppedItems {
    limit: usize,
    counts: DroppedCounts,
    /// The worst of the sample is on top.
    sample: BinaryHeap<Dropped>,
}

impl DroppedItems {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, counts: DroppedCounts::default(), sample: BinaryHeap::new() }
    }

    pub(super) fn counts(&self) -> DroppedCounts {
        self.counts
    }

    pub(super) fn add(&mut self, dropped: Dropped) {
        *match dropped.why {
            Why::NegativeTokens => &mut self.counts.negative_tokens,
            Why::Duplicate => &mut self.counts.duplicates,
            Why::Unfit => &mut self.counts.over_budget,
        } += 1;
        if self.limit == 0 {
            return;
        }
        self.sample.push(dropped);
        if self.sample.len() > self.limit {
            self.sample.pop();
        }
    }

    pub(super) fn add_unfit(&mut self, sequence: Sequence, score: f64, item: ContextItem) {
        self.add(Dropped { sequence, score, item, why: Why::Unfit });
    }

    pub(super) fn add_duplicate(&mut self, sequence: Sequence, score: f64, item: ContextItem) {
        self.add(Dropped { sequence, score, item, why: Why::Duplicate });
    }

    /// Adds the sample to a report, with the reasons a batch would give.
    pub(super) fn explain_into(
        self,
        report: &mut SelectionReport,
        explain: &Explain<'_>,
        used_tokens: i64,
    ) {
        let available = explain.target().saturating_sub(used_tokens);
        let dropped = self.sample.into_sorted_vec().into_iter().map(|dropped| {
            let Dropped { score, item, why, .. } = dropped;
            let reason = match why {
                Why::NegativeTokens => ExclusionReason::NegativeTokens { tokens: item.tokens() },
                Why::Duplicate => {
                    ExclusionReason::Deduplicated { deduplicated_against: item.shared_content() }
                }
                Why::Unfit => explain.why_not(item.tokens(), available),
            };
            ExcludedItem { item, score, reason }
        });
        report.excluded.extend(dropped);
        report.excluded.sort_by_key(|excluded| order::descending(excluded.score));
    }
}
