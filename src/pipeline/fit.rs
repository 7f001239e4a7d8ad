//! Stage 5 selects the items that fit the effective budget. Stage 6 adds the pinned ones, handles overflow
//! and orders the result. Stage 6 also runs by itself, for a selection that was made while items arrived.

use std::fmt;
use std::sync::Arc;

use super::observe::Observer;
use super::rank::{RankedItems, saturated};
use crate::diagnostics::{OverflowEvent, PipelineStage};
use crate::error::CupelError;
use crate::model::{ContextBudget, OverflowStrategy, ScoredItem, descending_key};
use crate::placer::Placer;
use crate::slicer::SliceResult;

/// Lets the slicer choose and reports the items that it left out. Returns positions among the sorted
/// items, in the slicer's order.
pub(super) fn slice(
    slice: &dyn Fn(&ContextBudget) -> Result<SliceResult, CupelError>,
    slicer: &str,
    ranked: &RankedItems<'_>,
    budget: &ContextBudget,
    observer: &mut Observer<'_>,
) -> Result<Vec<usize>, CupelError> {
    const STAGE: PipelineStage = PipelineStage::Slice;
    let sorted = &ranked.sorted;
    let running = observer.enter(STAGE, sorted.len());
    let effective = budget.effective(saturated(ranked.classified.pinned_tokens));
    let sliced = slice(&effective)?;

    let chosen = mark(slicer, &sliced.indices, sorted.len())?;
    if observer.wants_items() {
        let selected = sliced.indices.iter().filter_map(|&index| sorted.get(index));
        let used = selected.fold(0_i64, |sum, s| sum.saturating_add(s.tokens()));
        let available = effective.target_tokens().saturating_sub(used);
        let mut own_reasons = sliced.exclusions;
        own_reasons.sort_by_key(|(position, _)| *position);
        let mut own_reasons = own_reasons.into_iter().peekable();
        let explain = ranked.classified.explain(budget);
        for (position, (scored, chosen)) in sorted.iter().zip(&chosen).enumerate() {
            let mut reason = None;
            while let Some((_, own)) = own_reasons.next_if(|(at, _)| *at <= position) {
                reason = Some(own);
            }
            if !chosen {
                let reason = reason.unwrap_or_else(|| explain.why_not(scored.tokens(), available));
                observer.excluded(&STAGE, *scored, reason);
            }
        }
        observer.shortfalls(sliced.shortfalls);
    }
    let note = (!sliced.notes.is_empty()).then(|| sliced.notes.join("; "));
    observer.leave_with(running, sliced.indices.len(), note);
    Ok(sliced.indices)
}

/// Turns the answer of a slicer or a placer into flags, and checks it on the way.
pub(super) fn mark(
    component: &str,
    indices: &[usize],
    len: usize,
) -> Result<Vec<bool>, CupelError> {
    let mut chosen = vec![false; len];
    for &index in indices {
        let flag =
            chosen.get_mut(index).ok_or_else(|| CupelError::out_of_range(component, index, len))?;
        if std::mem::replace(flag, true) {
            let problem = format!("answered with position {index} twice; each may appear once");
            return Err(CupelError::contract(component, problem));
        }
    }
    Ok(chosen)
}

/// Function that is called when a selection exceeds the target.
#[derive(Clone)]
pub(super) struct OverflowObserver(pub(super) Arc<dyn Fn(&OverflowEvent) + Send + Sync>);

impl fmt::Debug for OverflowObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OverflowObserver")
    }
}

/// The score a pinned item is placed with.
const PINNED_SCORE: f64 = 1.0;

/// An item of the final selection.
#[derive(Clone, Copy)]
pub(super) struct SelectedItem<'a> {
    /// Its position among all candidates.
    pub(super) position: u32,
    pub(super) scored: ScoredItem<'a>,
}

pub(super) struct PlaceStage<'p, 'a> {
    pub(super) placer: &'p dyn Placer,
    pub(super) overflow_strategy: OverflowStrategy,
    pub(super) overflow_observer: Option<&'p OverflowObserver>,
    pub(super) ranked: &'p RankedItems<'a>,
    pub(super) budget: &'p ContextBudget,
    /// The place of every candidate in the order they arrived in; empty when that is the order
    /// of the candidates.
    pub(super) arrival: &'p [usize],
}

impl<'a> PlaceStage<'_, 'a> {
    /// Positions of the selection, in presentation order. `sliced` are numbers of sorted items.
    pub(super) fn place(
        &self,
        sliced: &[usize],
        observer: &mut Observer<'_>,
    ) -> Result<Vec<usize>, CupelError> {
        let items_in = self.ranked.classified.pinned.len() + sliced.len();
        let running = observer.enter(PipelineStage::Place, items_in);
        let merged = self.merge(sliced, observer)?;
        let placer = self.placer;
        let scored: Vec<ScoredItem<'a>> = merged.iter().map(|selected| selected.scored).collect();
        let position = |selected: &SelectedItem<'a>| {
            let position = selected.position as usize;
            self.arrival.get(position).copied().unwrap_or(position)
        };
        let positions: Vec<usize> = merged.iter().map(position).collect();
        let order = placer.place_by_position(&scored, &positions);
        check_permutation(placer, &order, merged.len())?;
        let mut placed = Vec::with_capacity(merged.len());
        for selected in order.iter().filter_map(|&place| merged.get(place)) {
            if observer.wants_items() {
                observer.included(selected.scored);
            }
            placed.push(selected.position as usize);
        }
        observer.leave(running, placed.len());
        Ok(placed)
    }

    /// Pinned items, then the sliced ones, as far as the overflow strategy allows.
    pub(super) fn merge(
        &self,
        sliced: &[usize],
        observer: &mut Observer<'_>,
    ) -> Result<Vec<SelectedItem<'a>>, CupelError> {
        let RankedItems { classified, sorted, positions } = self.ranked;
        let mut merged = Vec::with_capacity(classified.pinned.len() + sliced.len());
        merged.extend(classified.pinned.iter().filter_map(|&position| {
            let scored = ScoredItem::new(classified.item(position)?, PINNED_SCORE);
            Some(SelectedItem { position, scored })
        }));
        merged.extend(sliced.iter().filter_map(|&number| {
            Some(SelectedItem { position: *positions.get(number)?, scored: *sorted.get(number)? })
        }));
        let tokens: i128 = merged.iter().map(|s| i128::from(s.scored.tokens())).sum();
        if tokens > i128::from(self.limit()) {
            merged = self.handle_overflow(merged, tokens, observer)?;
        }
        Ok(merged)
    }

    /// The lower of the target and of what the output reserve leaves.
    fn limit(&self) -> i64 {
        self.budget.target_tokens().min(self.budget.available_tokens())
    }

    fn handle_overflow(
        &self,
        merged: Vec<SelectedItem<'a>>,
        tokens: i128,
        observer: &mut Observer<'_>,
    ) -> Result<Vec<SelectedItem<'a>>, CupelError> {
        // No selection may exceed this; a slicer may take required items whatever they cost.
        let ceiling = self.budget.available_tokens();
        let target_tokens = self.budget.target_tokens();
        let over_target = tokens > i128::from(target_tokens);
        let merged_tokens = saturated(tokens);
        match self.overflow_strategy {
            OverflowStrategy::Throw if over_target => {
                Err(CupelError::Overflow { merged_tokens, target_tokens })
            }
            OverflowStrategy::Throw => {
                Err(CupelError::CeilingExceeded { merged_tokens, available_tokens: ceiling })
            }
            OverflowStrategy::Truncate => Ok(self.truncate(merged, self.limit(), observer)),
            OverflowStrategy::Proceed => {
                if let Some(OverflowObserver(notify)) = self.overflow_observer {
                    // A selection within its target is here for the ceiling.
                    let over = if over_target { target_tokens } else { ceiling };
                    notify(&OverflowEvent {
                        tokens_over_budget: merged_tokens.saturating_sub(over),
                        overflowing_items: merged.iter().map(|s| s.scored.item().clone()).collect(),
                        budget: self.budget.clone(),
                    });
                }
                if tokens > i128::from(ceiling) {
                    return Ok(self.truncate(merged, ceiling, observer));
                }
                Ok(merged)
            }
        }
    }

    /// Keeps pinned items, and others from the highest score down as long as they fit `limit`.
    fn truncate(
        &self,
        mut merged: Vec<SelectedItem<'a>>,
        limit: i64,
        observer: &mut Observer<'_>,
    ) -> Vec<SelectedItem<'a>> {
        // A slicer has its own order, by density for one; what is dropped goes by score.
        if let Some(sliced) = merged.get_mut(self.ranked.classified.pinned.len()..) {
            sliced.sort_by_key(|selected| descending_key(selected.scored.score()));
        }
        // Wide enough for any number of items: a sum that is cut off would seem to fit.
        let mut kept_tokens = 0_i128;
        let (kept, dropped): (Vec<_>, Vec<_>) =
            merged.into_iter().partition(|SelectedItem { scored, .. }| {
                let with = kept_tokens + i128::from(scored.tokens());
                let keep = scored.item().pinned() || with <= i128::from(limit);
                if keep {
                    kept_tokens = with;
                }
                keep
            });
        if observer.wants_items() {
            let explain = self.ranked.classified.explain(self.budget);
            let available = limit.saturating_sub(saturated(kept_tokens));
            for SelectedItem { scored, .. } in dropped {
                let reason = explain.why_not(scored.tokens(), available);
                observer.excluded(&PipelineStage::Place, scored, reason);
            }
        }
        kept
    }
}

fn check_permutation(placer: &dyn Placer, order: &[usize], len: usize) -> Result<(), CupelError> {
    mark(placer.name(), order, len)?;
    if order.len() != len {
        let placed = order.len();
        let problem = format!("placed {placed} of {len} items; it must place each exactly once");
        return Err(CupelError::contract(placer.name(), problem));
    }
    Ok(())
}
