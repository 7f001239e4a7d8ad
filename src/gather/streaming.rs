//! Selects while items arrive: classifies, scores, deduplicates and slices each one at once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use tokio::time::Instant;

use super::candidates::{
    Candidates, PinRoom, SelectionFailure, SelectionOutcome, SourceFacts, SourceNotes, origin,
};
use super::dropped::DroppedItems;
use super::report::{DroppedCounts, StreamReport};
use super::work_time::{LearnedCost, Pace, TimeSlice};
use crate::diagnostics::{PipelineStage, TraceCollector as _, Watchers, tell};
use crate::model::{ContextBudget, ContextItem, PlacedItem, descending_key};
use crate::pipeline::{Explain, Pipeline};
use crate::scorer::Scorer;
use crate::slicer::{Sequence, StreamBounds, StreamItem, StreamPush, StreamSlice};

/// The selection as it stands while sources still deliver.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Snapshot {
    /// Items that would be selected if nothing more came: pinned ones, then the others in the slicer's
    /// order.
    pub selected: Vec<ContextItem>,
    /// Their tokens together.
    pub tokens: i64,
    /// Number of candidates that have arrived.
    pub arrived: usize,
}

pub(crate) type ProgressHook = Arc<dyn Fn(&Snapshot) + Send + Sync>;

/// Settings of a layer that selects while it gathers.
#[derive(Clone)]
pub(crate) struct StreamingMode {
    pub(crate) dropped_sample: usize,
    pub(crate) on_progress: Option<ProgressHook>,
}

impl StreamingMode {
    /// Returns true if somebody wants to see the selection grow.
    pub(crate) fn is_watched(&self) -> bool {
        self.on_progress.is_some()
    }
}

/// Items whose scores take no longer than this, in nanoseconds, are looked at when they arrive.
const SOON_SCORED: u64 = 200_000;

/// A score that takes longer is not put off until the end.
const FAST_SCORE: Duration = Duration::from_micros(5);

/// Most items that wait to be scored while more is read.
const MOST_WAITING: usize = 16_384;

/// One call's selection under way.
///
/// An item's [`Sequence`] says which list it is of, and where it stands there; list 0 is the
/// request, the sources follow.
pub(crate) struct StreamingSelection {
    pipeline: Pipeline,
    /// With its clock stopped, so that an item does not lose because it came late.
    scorer: Arc<dyn Scorer>,
    budget: ContextBudget,
    facts: Arc<[SourceFacts]>,
    /// Promises of each source, as far as it has kept them.
    promises: Vec<StreamBounds>,
    notes: Vec<SourceNotes>,
    /// Number of items that each list has had.
    lengths: Vec<u64>,
    arrived_tokens: i64,
    /// Items that have not been looked at.
    waiting: VecDeque<(Sequence, ContextItem)>,
    /// `true` if items may wait for the end: nobody watches, no source has promised anything that could
    /// end the call early, and there are few. All at once they are cheaper to select from.
    defers: bool,
    /// `true` once the time of a score has been measured.
    probed: bool,
    pace: Pace,
    cost: Arc<LearnedCost>,
    pinned: Vec<(Sequence, ContextItem)>,
    /// Pins of optional sources, which stay only if they fit beside all others.
    optional_pins: Vec<(Sequence, ContextItem)>,
    pinned_tokens: i64,
    slice: StreamSlice<ContextItem>,
    dropped: DroppedItems,
    on_progress: Option<ProgressHook>,
    shown: Vec<Sequence>,
}

impl StreamingSelection {
    pub(crate) fn new(
        pipeline: &Pipeline,
        mode: &StreamingMode,
        facts: Arc<[SourceFacts]>,
        budget: ContextBudget,
        cost: Arc<LearnedCost>,
        wants_report: bool,
        copies_of_any_size: bool,
    ) -> Self {
        let target = budget.effective(0).target_tokens();
        let deduplicating = pipeline.deduplication();
        let scorer = pipeline.scorer();
        let promised = facts.iter().any(|source| source.promises.says_anything());
        let defers = mode.on_progress.is_none() && !promised;
        Self {
            scorer: scorer.freeze().unwrap_or_else(|| Arc::clone(scorer)),
            pipeline: pipeline.clone(),
            budget,
            promises: facts.iter().map(|source| source.promises).collect(),
            notes: vec![SourceNotes::default(); facts.len()],
            lengths: vec![0; facts.len() + 1],
            facts,
            arrived_tokens: 0,
            waiting: VecDeque::new(),
            defers,
            probed: false,
            pace: Pace::default(),
            cost,
            pinned: Vec::new(),
            optional_pins: Vec::new(),
            pinned_tokens: 0,
            slice: match (deduplicating, copies_of_any_size) {
                (false, _) => StreamSlice::new(target),
                (true, false) => StreamSlice::deduplicating(target),
                (true, true) => StreamSlice::deduplicating_any_size(target),
            }
            .order(pipeline.slicer().facts().order),
            dropped: DroppedItems::new(
                if wants_report { mode.dropped_sample } else { 0 },
                deduplicating,
            ),
            on_progress: mode.on_progress.clone(),
            shown: Vec::new(),
        }
    }

    /// Takes items of a list, in their order.
    pub(crate) fn take_all(&mut self, list: usize, items: Vec<ContextItem>) {
        let Some(length) = self.lengths.get_mut(list) else {
            return;
        };
        for item in items {
            self.arrived_tokens = self.arrived_tokens.saturating_add(item.tokens());
            self.waiting.push_back((Sequence::new(list as u32, *length), item));
            *length += 1;
        }
        // What takes long waits until all that is ready has been read, or a source would be late
        // for it; but it does not pile up without end.
        let waiting = self.waiting.len();
        self.defers &= waiting <= MOST_WAITING && self.scores_fast();
        if self.defers {
            return;
        }
        if self.cost.of(waiting) <= SOON_SCORED || waiting > MOST_WAITING {
            self.score_some();
        }
    }

    /// Returns true if one score takes next to no time. Slow scorers work while sources deliver.
    fn scores_fast(&mut self) -> bool {
        if self.probed {
            return true;
        }
        let Some((_, item)) = self.waiting.front() else { return true };
        let begun = Instant::now();
        let _ = self.score(item);
        self.probed = true;
        begun.elapsed() <= FAST_SCORE
    }

    /// Number of items that are not decided yet.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + self.slice.live_len()
    }

    /// Looks at items that wait, for about a millisecond; says whether there were any.
    pub(crate) fn score_some(&mut self) -> bool {
        if self.defers {
            return false;
        }
        let before = self.waiting.len();
        let mut slice = TimeSlice::begin(self.pace);
        while let Some((sequence, item)) = self.waiting.pop_front() {
            self.take(sequence, item);
            if slice.is_over() {
                break;
            }
        }
        self.pace = slice.pace();
        let scored = before - self.waiting.len();
        if scored > 0 {
            self.cost.note(scored, slice.elapsed());
            self.show_progress();
        }
        scored > 0
    }

    fn take(&mut self, sequence: Sequence, item: ContextItem) {
        if item.tokens() < 0 {
            self.dropped.add(StreamItem::new(0.0, item.tokens(), sequence, item));
        } else if item.pinned() {
            self.pin(sequence, item);
        } else {
            let score = self.score(&item);
            if let Some(source) = (sequence.stream as usize).checked_sub(1) {
                let item = StreamItem::new(score, item.tokens(), sequence, ());
                self.hold_to_promises(source, |bounds| bounds.observe(&item));
            }
            self.push(sequence, score, item);
        }
    }

    fn score(&self, item: &ContextItem) -> f64 {
        self.scorer.score(item, std::slice::from_ref(item))
    }

    fn hold_to_promises(&mut self, source: usize, observe: impl Fn(&mut StreamBounds) -> bool) {
        if let (Some(bounds), Some(notes)) =
            (self.promises.get_mut(source), self.notes.get_mut(source))
        {
            notes.broke_promise |= !observe(bounds);
        }
    }

    fn pin(&mut self, sequence: Sequence, item: ContextItem) {
        if let Some(source) = (sequence.stream as usize).checked_sub(1) {
            self.hold_to_promises(source, |bounds| bounds.observe_pinned(sequence));
            // Whether it may stay pinned shows when all pins that must be there have arrived.
            if self.facts.get(source).is_some_and(|facts| facts.optional) {
                self.optional_pins.push((sequence, item));
                return;
            }
        }
        self.hold(sequence, item);
    }

    /// Pins an item for good; late ones shrink what is left for the others.
    fn hold(&mut self, sequence: Sequence, item: ContextItem) {
        self.pinned_tokens = self.pinned_tokens.saturating_add(item.tokens());
        self.pinned.push((sequence, item));
        let target = self.budget.effective(self.pinned_tokens).target_tokens();
        // It can only shrink: pinned tokens only grow.
        for out in self.slice.shrink_budget(target).unwrap_or_default() {
            self.dropped.add(out);
        }
    }

    /// Keeps the pins of optional sources that fit beside the others, and lifts the rest.
    fn settle_optional_pins(&mut self) -> Vec<SourceNotes> {
        let mut notes = std::mem::take(&mut self.notes);
        let promised = self.pinned.iter().map(|(_, item)| item);
        let mut room = PinRoom::beside(promised, &self.budget, self.pipeline.overflow_strategy());
        let mut pins = std::mem::take(&mut self.optional_pins);
        pins.sort_by_key(|(sequence, _)| *sequence);
        for (sequence, mut item) in pins {
            if room.lift_unless_fits(&mut item) {
                let source = (sequence.stream as usize).checked_sub(1);
                if let Some(notes) = source.and_then(|source| notes.get_mut(source)) {
                    notes.pins_lifted += 1;
                }
                let score = self.score(&item);
                self.push(sequence, score, item);
            } else {
                self.hold(sequence, item);
            }
        }
        notes
    }

    fn push(&mut self, sequence: Sequence, score: f64, item: ContextItem) {
        self.dropped.scored(sequence, score, &item);
        match self.slice.push(StreamItem::new(score, item.tokens(), sequence, item)) {
            StreamPush::Kept { dropped, withdrawn } => {
                dropped.into_iter().chain(withdrawn).for_each(|out| self.dropped.add(out));
            }
            StreamPush::Duplicate(out) | StreamPush::Dropped(out) | StreamPush::Refused(out) => {
                self.dropped.add(out);
            }
        }
    }

    /// Returns true if nothing that the open sources can still yield would change the selection.
    pub(crate) fn is_settled(&self, is_open: &dyn Fn(usize) -> bool) -> bool {
        let open = self.promises.iter().enumerate().filter(|(source, _)| is_open(*source));
        self.waiting.is_empty()
            && self.optional_pins.is_empty()
            && self.slice.is_settled(open.map(|(_, bounds)| bounds))
    }

    fn arrived(&self) -> usize {
        self.lengths.iter().sum::<u64>() as usize
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
        let sliced = self.slice.selection().map(|selected| selected.payload.clone());
        let selected: Vec<ContextItem> = pinned.chain(sliced).collect();
        let tokens = selected.iter().fold(0_i64, |sum, item| sum.saturating_add(item.tokens()));
        tell(|| show(&Snapshot { selected, tokens, arrived: self.arrived() }));
    }

    /// Selects from everything at the end, and reports as if it had been done while items arrived.
    fn finish_at_once(self, watchers: Watchers) -> Result<SelectionOutcome, SelectionFailure> {
        let mut lists: Vec<Vec<ContextItem>> = self.lengths.iter().map(|_| Vec::new()).collect();
        for (sequence, item) in self.waiting {
            if let Some(list) = lists.get_mut(sequence.stream as usize) {
                list.push(item);
            }
        }
        let own = if lists.is_empty() { Vec::new() } else { lists.remove(0) };
        let candidates = Candidates::merge(own, lists);
        let counts = DroppedCounts::before(&candidates.items, self.pipeline.deduplication());
        let wants_report = watchers.want_report();
        let numbered = candidates.items.iter().enumerate().filter(|_| wants_report);
        let arrival: HashMap<usize, usize> =
            numbered.map(|(number, item)| (item.address(), number)).collect();
        let sample = self.dropped.limit();
        let mut chosen = candidates.select(&self.pipeline, &self.budget, &self.facts, watchers)?;
        let scored = chosen.placed.iter().filter(|placed| !placed.item.pinned()).count();
        let dropped = counts.after(scored);
        chosen.stream = Some(StreamReport { arrived: chosen.candidates, dropped });
        chosen.report.events.retain(|event| event.stage == PipelineStage::Place);
        // Of equal scores the first to arrive comes first.
        chosen.report.excluded.sort_by_key(|out| {
            (descending_key(out.score), arrival.get(&out.item.address()).copied())
        });
        chosen.report.excluded.truncate(sample);
        Ok(chosen)
    }

    /// Places what is selected and explains what is not.
    pub(crate) fn finish(
        mut self,
        mut watchers: Watchers,
    ) -> Result<SelectionOutcome, SelectionFailure> {
        // An observer would hear of stages that a selection made while items arrive does not have.
        if self.defers && !watchers.has_others() {
            return self.finish_at_once(watchers);
        }
        while let Some((sequence, item)) = self.waiting.pop_front() {
            self.take(sequence, item);
        }
        let sources = self.settle_optional_pins();
        let arrived = self.arrived();
        let Self { facts, budget, mut pinned, mut dropped, pinned_tokens, .. } = self;
        pinned.sort_by_key(|(sequence, _)| *sequence);
        let selection = self.slice.finish();
        selection.passed_over.into_iter().for_each(|item| dropped.add(item));
        let (mut sequences, mut items): (Vec<Sequence>, Vec<ContextItem>) =
            pinned.into_iter().unzip();
        let (pins, mut used_tokens) = (items.len(), 0_i64);
        let mut scores = Vec::with_capacity(selection.selected.len());
        for selected in selection.selected {
            used_tokens = used_tokens.saturating_add(selected.tokens);
            sequences.push(selected.sequence);
            scores.push(selected.score);
            items.push(selected.payload);
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
        let positions = self
            .pipeline
            .place_selected(&items, &scores, &arrival, arrived, &budget, &mut watchers)
            .map_err(|error| {
                SelectionFailure::new(error, &items, |position| {
                    let sequence = sequences.get(position)?;
                    (sequence.stream == 0).then_some(sequence.position as usize)
                })
            })?;
        let counts = dropped.counts(positions.len().saturating_sub(pins));
        let wants_report = watchers.want_report();
        let explain_scores = watchers.wants_score_parts();
        let mut report = watchers.into_report();
        if wants_report {
            let first_pinned = items.first().filter(|item| item.pinned());
            let explain = Explain::new(&budget, pinned_tokens, first_pinned);
            dropped.explain_into(&mut report, &explain, used_tokens);
            report.total_candidates = arrived;
            report.total_tokens_considered = self.arrived_tokens;
            if explain_scores {
                report.explain_scores(&*self.scorer);
            }
        }
        let placed = positions.into_iter().filter_map(|position| {
            let Sequence { stream, position: at } = *sequences.get(position)?;
            let origin = origin(&facts, stream as usize, at as usize)?;
            Some(PlacedItem { item: items.get(position)?.clone(), origin })
        });
        let stream = Some(StreamReport { arrived, dropped: counts });
        Ok(SelectionOutcome {
            placed: placed.collect(),
            report,
            stream,
            sources,
            candidates: arrived,
        })
    }
}
