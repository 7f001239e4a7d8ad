//! One list of all candidates with the origin of each, and the result of a selection from it.

use std::sync::Arc;

use super::report::StreamReport;
use super::source::{FailurePolicy, Source};
use crate::diagnostics::{NullTraceCollector, SelectionReport, Watchers};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, Origin, OverflowStrategy, PlacedItem};
use crate::pipeline::Pipeline;
use crate::slicer::StreamBounds;

/// Facts about a source before any call.
#[derive(Debug)]
pub(crate) struct SourceFacts {
    name: Arc<str>,
    /// `true` if a call goes on without it. Then its pins must not fail the call either.
    pub(crate) optional: bool,
    /// Promises about its items.
    pub(crate) promises: StreamBounds,
}

/// The facts about all sources of a layer, in their order.
pub(crate) fn facts_of<Req>(sources: &[Source<Req>]) -> Arc<[SourceFacts]> {
    let facts = |(number, source): (u32, &Source<Req>)| SourceFacts {
        name: Arc::clone(&source.name),
        optional: source.failure != FailurePolicy::Required,
        promises: source.promises.of_source(number),
    };
    // The request's own candidates are list 0.
    (1..).zip(sources).map(facts).collect()
}

/// Origin of the item at `position` of a list; list 0 is the request, the sources follow.
pub(crate) fn origin(facts: &[SourceFacts], list: usize, position: usize) -> Option<Origin> {
    match list.checked_sub(1) {
        None => Some(Origin::Request(position)),
        Some(source) => {
            Some(Origin::Source { name: Arc::clone(&facts.get(source)?.name), position })
        }
    }
}

/// All candidates of a call: the request's own first, then each source's.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) items: Vec<ContextItem>,
    /// Position at which the list of each source begins.
    starts: Vec<usize>,
}

impl Candidates {
    pub(crate) fn merge(own: Vec<ContextItem>, lists: Vec<Vec<ContextItem>>) -> Self {
        let mut merged = Self { items: own, starts: Vec::with_capacity(lists.len()) };
        for list in lists {
            merged.starts.push(merged.items.len());
            merged.items.extend(list);
        }
        merged
    }

    /// Lifts the pins of optional sources that do not fit; answers how many each source lost.
    fn lift_pins(
        &mut self,
        facts: &[SourceFacts],
        budget: &ContextBudget,
        overflow: OverflowStrategy,
    ) -> Vec<usize> {
        let mut lifted = vec![0; facts.len()];
        let Self { items, starts } = self;
        let source_of = |position: usize| starts.partition_point(|start| *start <= position);
        let is_optional = |position: usize| match source_of(position).checked_sub(1) {
            Some(source) => facts.get(source).is_some_and(|facts| facts.optional),
            None => false,
        };
        let is_pin = |item: &ContextItem| item.pinned() && item.tokens() >= 0;
        let pins = items.iter().enumerate().filter(|(_, item)| is_pin(item));
        let (optional, promised): (Vec<usize>, Vec<usize>) =
            pins.map(|(position, _)| position).partition(|position| is_optional(*position));
        let promised = promised.iter().filter_map(|position| items.get(*position));
        let mut room = PinRoom::beside(promised, budget, overflow);
        for position in optional {
            let lost = items.get_mut(position).is_some_and(|item| room.lift_unless_fits(item));
            let count = source_of(position).checked_sub(1).and_then(|s| lifted.get_mut(s));
            if let Some(count) = count.filter(|_| lost) {
                *count += 1;
            }
        }
        lifted
    }

    /// Selects from all of them with a pipeline.
    pub(crate) fn select(
        mut self,
        pipeline: &Pipeline,
        budget: &ContextBudget,
        facts: &[SourceFacts],
        mut watchers: Watchers,
    ) -> Result<SelectionOutcome, SelectionFailure> {
        let lifted = match facts.is_empty() {
            true => Vec::new(),
            false => self.lift_pins(facts, budget, pipeline.overflow_strategy()),
        };
        let items = &self.items;
        let positions = if watchers.is_empty() {
            pipeline.run_positions(items, budget, &mut NullTraceCollector)
        } else {
            pipeline.run_positions(items, budget, &mut watchers)
        };
        let own = self.starts.first().copied().unwrap_or(items.len());
        let own = |position: usize| (position < own).then_some(position);
        let positions = positions.map_err(|error| SelectionFailure::new(error, items, own))?;
        let notes = |pins_lifted| SourceNotes { pins_lifted, broke_promise: false };
        Ok(SelectionOutcome {
            candidates: items.len(),
            placed: self.into_placed(&positions, facts),
            report: watchers.into_report(),
            stream: None,
            sources: lifted.into_iter().map(notes).collect(),
        })
    }

    /// The candidates at these positions, each named once, with where they came from.
    fn into_placed(self, positions: &[usize], facts: &[SourceFacts]) -> Vec<PlacedItem> {
        let Self { items, starts } = self;
        let mut items: Vec<Option<ContextItem>> = items.into_iter().map(Some).collect();
        let mut placed = Vec::with_capacity(positions.len());
        placed.extend(positions.iter().filter_map(|&position| {
            let list = starts.partition_point(|start| *start <= position);
            let start = list.checked_sub(1).and_then(|list| starts.get(list)).unwrap_or(&0);
            let origin = origin(facts, list, position - start)?;
            Some(PlacedItem { item: items.get_mut(position)?.take()?, origin })
        }));
        placed
    }
}

/// Tokens that the pins of optional sources may still take.
///
/// A pin is a promise that the caller makes. An optional source whose pinned items would not fit
/// beside those of the caller must not fail the call: its pins are lifted, and the items compete
/// like any other.
pub(crate) struct PinRoom {
    /// Wide enough for any number of items, as sums of tokens are in the pipeline.
    left: i128,
}

impl PinRoom {
    /// Tokens that the pins of the request and of required sources leave.
    pub(crate) fn beside<'a>(
        promised: impl IntoIterator<Item = &'a ContextItem>,
        budget: &ContextBudget,
        overflow: OverflowStrategy,
    ) -> Self {
        let limit = match overflow {
            // Pins beyond the target would fail the call as surely as pins beyond the window.
            OverflowStrategy::Throw => budget.available_tokens().min(budget.target_tokens()),
            _ => budget.available_tokens(),
        };
        let promised: i128 = promised.into_iter().map(|item| i128::from(item.tokens())).sum();
        Self { left: i128::from(limit) - promised }
    }

    /// Takes the pin off an item that does not fit; says whether it did.
    pub(crate) fn lift_unless_fits(&mut self, item: &mut ContextItem) -> bool {
        let left = self.left - i128::from(item.tokens());
        if left >= 0 {
            self.left = left;
            return false;
        }
        item.set_pinned(false);
        true
    }
}

/// Selected items, and the reports on them.
#[derive(Default)]
pub(crate) struct SelectionOutcome {
    /// In presentation order.
    pub(crate) placed: Vec<PlacedItem>,
    /// Empty when nobody wants it.
    pub(crate) report: SelectionReport,
    pub(crate) stream: Option<StreamReport>,
    /// One entry a source.
    pub(crate) sources: Vec<SourceNotes>,
    /// Number of items there were to select from.
    pub(crate) candidates: usize,
}

/// Findings of the selection about a source.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SourceNotes {
    pub(crate) pins_lifted: usize,
    pub(crate) broke_promise: bool,
}

/// An error of the pipeline, with the largest pinned items if these do not fit.
pub(crate) struct SelectionFailure {
    pub(crate) error: CupelError,
    /// Each with its index among the request's own candidates, if it is one.
    pub(crate) largest: Vec<(Option<usize>, ContextItem)>,
}

impl SelectionFailure {
    /// `own` says which of the request's own candidates an item is, by its position in `items`.
    pub(crate) fn new(
        error: CupelError,
        items: &[ContextItem],
        own: impl Fn(usize) -> Option<usize>,
    ) -> Self {
        let mut largest = Vec::new();
        if matches!(error, CupelError::PinnedExceedsBudget { .. }) {
            let pinned = items.iter().enumerate().filter(|(_, item)| item.pinned());
            let mut pinned: Vec<(usize, &ContextItem)> = pinned.collect();
            pinned.sort_by_key(|(_, item)| std::cmp::Reverse(item.tokens()));
            let three = pinned.into_iter().take(3);
            largest.extend(three.map(|(position, item)| (own(position), item.clone())));
        }
        Self { error, largest }
    }
}
