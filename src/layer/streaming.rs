//! Selects while items arrive: classifies, scores, deduplicates and slices each one at once.

use std::sync::Arc;

use super::dropped::{Dropped, DroppedCounts, DroppedItems, Why};
use super::observe::Audience;
use super::{Origin, Placed};
use crate::diagnostics::{SelectionReport, TraceCollector};
use crate::error::CupelError;
use crate::gather::{Sink, SourceReport, pin_limit};
use crate::model::{ContextBudget, ContextItem};
use crate::pipeline::{Explain, Pipeline};
use crate::scorer::Scorer;
use crate::slicer::{Sequence, SourceBounds, StreamContent, StreamItem, StreamPush, StreamSlice};

/// The selection as it stands while sources still deliver.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Snapshot {
    /// What would be selected if nothing more came: pinned items, then the others by score per
    /// token.
    pub selected: Vec<ContextItem>,
    /// Their tokens together.
    pub tokens: i64,
    /// How many candidates have arrived.
    pub arrived: usize,
}

pub(super) type ProgressHook = Arc<dyn Fn(&Snapshot) + Send + Sync>;

/// What a streaming layer is set up with.
#[derive(Clone)]
pub(super) struct StreamingMode {
    pub(super) dropped_sample: usize,
    pub(super) on_progress: Option<ProgressHook>,
}

/// A candidate that may still be selected.
struct Arrival {
    item: ContextItem,
}

impl StreamContent for Arrival {
    fn content_hash(&self) -> u64 {
        self.item.content_hash()
    }

    fn same_content(&self, other: &Self) -> bool {
        self.item.content() == other.item.content()
    }
}

/// What a source is allowed, by its number.
pub(super) struct Terms {
    pub(super) name: Arc<str>,
    /// A pinned item of an optional source that does not fit loses its pin instead of failing
    /// the call.
    pub(super) optional: bool,
    pub(super) bounds: SourceBounds,
    /// Whether it has broken its word.
    pub(super) broken: bool,
}

impl Terms {
    fn note(&mut self, kept: bool) {
        self.broken |= !kept;
    }
}

/// One call's selection under way.
pub(super) struct Streaming {
    pipeline: Pipeline,
    /// With its clock stopped, so that an item does not lose because it came late.
    scorer: Arc<dyn Scorer>,
    budget: ContextBudget,
    slice: StreamSlice<Arrival>,
    sources: Vec<Terms>,
    /// How many items each source has yielded; the request's own candidates are source 0.
    yielded: Vec<u64>,
    pinned: Vec<(Sequence, ContextItem)>,
    /// Pins of optional sources, which stay only if they fit beside all others.
    optional_pins: Vec<(Sequence, ContextItem)>,
    pinned_tokens: i64,
    arrived: usize,
    arrived_tokens: i64,
    dropped: DroppedItems,
    on_progress: Option<ProgressHook>,
    shown: Vec<Sequence>,
    error: Option<CupelError>,
}

/// What came of it.
pub(super) struct Streamed {
    pub(super) placed: Vec<Placed>,
    pub(super) report: Option<SelectionReport>,
    pub(super) stream: StreamReport,
    /// How many pins each source lost.
    pub(super) pins_lifted: Vec<usize>,
}

/// What a selection that was made while items arrived could not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StreamReport {
    /// How many candidates arrived, the request's own among them.
    pub arrived: usize,
    /// How many were left out, and why; the report lists the best of them.
    pub dropped: DroppedCounts,
}

impl Streaming {
    pub(super) fn new(
        pipeline: &Pipeline,
        mode: &StreamingMode,
        budget: ContextBudget,
        sources: Vec<Terms>,
        wants_report: bool,
    ) -> Self {
        let target = budget.effective(0).target_tokens();
        let slice = match pipeline.deduplication() {
            true => StreamSlice::deduplicating(target),
            false => StreamSlice::new(target),
        };
        let scorer = pipeline.scorer();
        Self {
            scorer: scorer.freeze().unwrap_or_else(|| Arc::clone(scorer)),
            pipeline: pipeline.clone(),
            budget,
            slice,
            yielded: vec![0; sources.len() + 1],
            sources,
            pinned: Vec::new(),
            optional_pins: Vec::new(),
            pinned_tokens: 0,
            arrived: 0,
            arrived_tokens: 0,
            dropped: DroppedItems::new(if wants_report { mode.dropped_sample } else { 0 }),
            on_progress: mode.on_progress.clone(),
            shown: Vec::new(),
            error: None,
        }
    }

    /// Takes the request's own candidates.
    pub(super) fn start(&mut self, own: Vec<ContextItem>) {
        for item in own {
            self.take(0, item);
        }
        self.show_progress();
    }

    /// Takes one item.
    fn take(&mut self, source: usize, item: ContextItem) {
        let Some(position) = self.yielded.get_mut(source) else {
            return;
        };
        let sequence = Sequence::new(source as u32, *position);
        *position += 1;
        self.arrived += 1;
        self.arrived_tokens = self.arrived_tokens.saturating_add(item.tokens());
        let tokens = item.tokens();
        if tokens < 0 {
            let dropped = Dropped { sequence, score: 0.0, item, why: Why::NegativeTokens };
            self.dropped.add(dropped);
            return;
        }
        if item.pinned() {
            self.pin(source, sequence, item);
        } else {
            self.push(source, sequence, item);
        }
    }

    fn pin(&mut self, source: usize, sequence: Sequence, item: ContextItem) {
        if let Some(terms) = source.checked_sub(1).and_then(|s| self.sources.get_mut(s)) {
            let kept = terms.bounds.observe_pinned(sequence);
            terms.note(kept);
            // Whether it may stay pinned shows when all pins that must be there have arrived.
            if terms.optional {
                self.optional_pins.push((sequence, item));
                return;
            }
        }
        self.hold(sequence, item);
    }

    /// Pins an item for good; late ones shrink what is left for the others.
    fn hold(&mut self, sequence: Sequence, item: ContextItem) {
        let with = self.pinned_tokens.saturating_add(item.tokens());
        let available = self.budget.max_tokens().saturating_sub(self.budget.output_reserve());
        if with > available {
            self.error = Some(CupelError::PinnedExceedsBudget {
                pinned_tokens: with,
                available_tokens: available,
            });
            return;
        }
        self.pinned_tokens = with;
        self.pinned.push((sequence, item));
        let target = self.budget.effective(with).target_tokens();
        // It can only shrink: pinned tokens only grow.
        for out in self.slice.shrink_budget(target).unwrap_or_default() {
            self.dropped.add_unfit(out.sequence, out.score, out.payload.item);
        }
    }

    /// Keeps the pins of optional sources that fit beside the others, and lifts the rest; answers
    /// how many each source lost.
    fn settle_optional_pins(&mut self) -> Vec<usize> {
        let mut lifted = vec![0; self.sources.len()];
        let limit = pin_limit(&self.budget, self.pipeline.overflow_strategy());
        let mut pins = std::mem::take(&mut self.optional_pins);
        pins.sort_by_key(|(sequence, _)| *sequence);
        for (sequence, item) in pins {
            if self.pinned_tokens.saturating_add(item.tokens()) <= limit {
                self.hold(sequence, item);
            } else if let Ok(unpinned) = item.to_builder().pinned(false).build() {
                let source = sequence.source as usize;
                if let Some(count) = source.checked_sub(1).and_then(|s| lifted.get_mut(s)) {
                    *count += 1;
                }
                self.push(0, sequence, unpinned); // its source's promises are settled already
            }
        }
        lifted
    }

    fn push(&mut self, source: usize, sequence: Sequence, item: ContextItem) {
        let score = self.scorer.score(&item, std::slice::from_ref(&item));
        let item = StreamItem::new(score, item.tokens(), sequence, Arrival { item });
        if let Some(terms) = source.checked_sub(1).and_then(|s| self.sources.get_mut(s)) {
            let kept = terms.bounds.observe(&item);
            terms.note(kept);
        }
        match self.slice.push(item) {
            StreamPush::Kept { dropped, withdrawn } => {
                for out in dropped {
                    self.dropped.add_unfit(out.sequence, out.score, out.payload.item);
                }
                if let Some(copy) = withdrawn {
                    self.dropped.add_duplicate(copy.sequence, copy.score, copy.payload.item);
                }
            }
            StreamPush::Duplicate(copy) => {
                self.dropped.add_duplicate(copy.sequence, copy.score, copy.payload.item);
            }
            StreamPush::Dropped(out) | StreamPush::Refused(out) => {
                self.dropped.add_unfit(out.sequence, out.score, out.payload.item);
            }
        }
    }

    /// Shows the selection if it has changed and somebody watches.
    fn show_progress(&mut self) {
        let Some(show) = &self.on_progress else {
            return;
        };
        let pinned = self.pinned.iter().map(|(sequence, _)| *sequence);
        let now: Vec<Sequence> = pinned.chain(self.slice.selection().map(|i| i.sequence)).collect();
        if now == self.shown {
            return;
        }
        self.shown = now;
        let pinned = self.pinned.iter().map(|(_, item)| item.clone());
        let sliced = self.slice.selection().map(|selected| selected.payload.item.clone());
        let selected: Vec<ContextItem> = pinned.chain(sliced).collect();
        let tokens = selected.iter().fold(0_i64, |sum, item| sum.saturating_add(item.tokens()));
        show(&Snapshot { selected, tokens, arrived: self.arrived });
    }

    /// Places what is selected and explains what is not.
    pub(super) fn finish(mut self, mut audience: Audience) -> Result<Streamed, CupelError> {
        let pins_lifted = self.settle_optional_pins();
        if let Some(error) = self.error {
            // Those who watch hear of a run all the same, one that failed before its only stage.
            audience.begin_run(self.arrived, &self.budget);
            audience.end_run(Err(&error));
            return Err(error);
        }
        self.pinned.sort_by_key(|(sequence, _)| *sequence);
        let selection = self.slice.finish();
        for out in selection.passed_over {
            self.dropped.add_unfit(out.sequence, out.score, out.payload.item);
        }
        let counts = self.dropped.counts();
        let mut sequences: Vec<Sequence> = self.pinned.iter().map(|(at, _)| *at).collect();
        let mut items: Vec<ContextItem> = self.pinned.into_iter().map(|(_, item)| item).collect();
        let mut scores = Vec::with_capacity(selection.selected.len());
        for selected in selection.selected {
            sequences.push(selected.sequence);
            scores.push(selected.score);
            items.push(selected.payload.item);
        }
        // The batch lists the request's candidates first, then each source's.
        let mut by_sequence: Vec<usize> = (0..sequences.len()).collect();
        by_sequence.sort_by_key(|index| sequences.get(*index));
        let mut arrival = vec![0; sequences.len()];
        for (number, index) in by_sequence.into_iter().enumerate() {
            if let Some(arrival) = arrival.get_mut(index) {
                *arrival = number;
            }
        }
        let positions = self.pipeline.place_selected(
            &items,
            &scores,
            &arrival,
            self.arrived,
            &self.budget,
            &mut audience,
        )?;
        let report = audience.into_report().map(|mut report| {
            let used = items
                .get(items.len() - scores.len()..)
                .unwrap_or_default()
                .iter()
                .fold(0_i64, |sum, item| sum.saturating_add(item.tokens()));
            let first_pinned = items.first().filter(|item| item.pinned());
            let explain = Explain::new(&self.budget, self.pinned_tokens, first_pinned);
            self.dropped.explain_into(&mut report, &explain, used);
            report.total_candidates = self.arrived;
            report.total_tokens_considered = self.arrived_tokens;
            report
        });
        let placed = positions.into_iter().filter_map(|position| {
            let sequence = sequences.get(position)?;
            let origin = match (sequence.source as usize).checked_sub(1) {
                None => Origin::Request(sequence.position as usize),
                Some(source) => Origin::Source {
                    name: Arc::clone(&self.sources.get(source)?.name),
                    position: sequence.position as usize,
                },
            };
            Some(Placed { item: items.get(position)?.clone(), origin })
        });
        let stream = StreamReport { arrived: self.arrived, dropped: counts };
        Ok(Streamed { placed: placed.collect(), report, stream, pins_lifted })
    }
}

impl Sink for Streaming {
    fn accept(&mut self, source: usize, items: Vec<ContextItem>, report: &mut SourceReport) {
        for item in items {
            self.take(source + 1, item);
        }
        report.broke_promise |= self.sources.get(source).is_some_and(|terms| terms.broken);
        self.show_progress();
    }

    fn is_settled(&self, is_open: &dyn Fn(usize) -> bool) -> bool {
        let open = self.sources.iter().enumerate().filter(|(source, _)| is_open(*source));
        self.error.is_some()
            || self.optional_pins.is_empty()
                && self.slice.is_settled(open.map(|(_, terms)| &terms.bounds))
    }
}
