//! Stage 6: merges pinned and sliced items, handles overflow, and orders the result; also by itself,
//! for a selection that was made while items arrived.

use std::borrow::Cow;

use super::observe::Observer;
use super::parts::{OverflowObserver, Pipeline};
use super::rank::{Classified, Ranked, saturated};
use super::slice::mark;
use crate::diagnostics::{OverflowEvent, PipelineStage, TraceCollector, spans};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, OverflowStrategy, ScoredItem};
use crate::order;
use crate::placer::Placer;

const STAGE: PipelineStage = PipelineStage::Place;

/// The score a pinned item is placed with.
const PINNED_SCORE: f64 = 1.0;

/// An item of the final selection.
#[derive(Clone, Copy)]
pub(super) struct Selected<'a> {
    /// Its position among all candidates.
    pub(super) position: u32,
    pub(super) scored: ScoredItem<'a>,
}

pub(super) struct Place<'p, 'a> {
    pub(super) pipeline: &'p Pipeline,
    pub(super) ranked: &'p Ranked<'a>,
    pub(super) budget: &'p ContextBudget,
    /// The place of every candidate in the order they arrived in; empty when that is the order
    /// of the candidates.
    pub(super) arrival: &'p [usize],
    pub(super) on_overflow: Option<&'p OverflowObserver>,
}

impl<'a> Place<'_, 'a> {
    /// Positions of the selection, in presentation order. `sliced` are numbers of sorted items.
    pub(super) fn place<C: TraceCollector + ?Sized>(
        &self,
        sliced: &[usize],
        observer: &mut Observer<'_, C>,
    ) -> Result<Vec<usize>, CupelError> {
        let items_in = self.ranked.classified.pinned.len() + sliced.len();
        let running = observer.enter(STAGE, items_in);
        let merged = self.merge(sliced, observer)?;
        let placer = &*self.pipeline.placer;
        let scored: Vec<ScoredItem<'a>> = merged.iter().map(|selected| selected.scored).collect();
        let position = |selected: &Selected<'a>| {
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
    pub(super) fn merge<C: TraceCollector + ?Sized>(
        &self,
        sliced: &[usize],
        observer: &mut Observer<'_, C>,
    ) -> Result<Vec<Selected<'a>>, CupelError> {
        let Ranked { classified, sorted, positions } = self.ranked;
        let mut merged = Vec::with_capacity(classified.pinned.len() + sliced.len());
        merged.extend(classified.pinned.iter().filter_map(|&position| {
            let scored = ScoredItem::new(classified.item(position)?, PINNED_SCORE);
            Some(Selected { position, scored })
        }));
        merged.extend(sliced.iter().filter_map(|&number| {
            Some(Selected { position: *positions.get(number)?, scored: *sorted.get(number)? })
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

    fn handle_overflow<C: TraceCollector + ?Sized>(
        &self,
        merged: Vec<Selected<'a>>,
        tokens: i128,
        observer: &mut Observer<'_, C>,
    ) -> Result<Vec<Selected<'a>>, CupelError> {
        // No selection may exceed this; a slicer may take required items whatever they cost.
        let ceiling = self.budget.available_tokens();
        let target_tokens = self.budget.target_tokens();
        let over_target = tokens > i128::from(target_tokens);
        let merged_tokens = saturated(tokens);
        match self.pipeline.overflow_strategy {
            OverflowStrategy::Throw if over_target => {
                Err(CupelError::Overflow { merged_tokens, target_tokens })
            }
            OverflowStrategy::Throw => {
                Err(CupelError::CeilingExceeded { merged_tokens, available_tokens: ceiling })
            }
            OverflowStrategy::Truncate => Ok(self.truncate(merged, self.limit(), observer)),
            OverflowStrategy::Proceed => {
                if let Some(OverflowObserver(notify)) = self.on_overflow {
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
    fn truncate<C: TraceCollector + ?Sized>(
        &self,
        mut merged: Vec<Selected<'a>>,
        limit: i64,
        observer: &mut Observer<'_, C>,
    ) -> Vec<Selected<'a>> {
        // A slicer has its own order, by density for one; what is dropped goes by score.
        if let Some(sliced) = merged.get_mut(self.ranked.classified.pinned.len()..) {
            sliced.sort_by_key(|selected| order::descending(selected.scored.score()));
        }
        // Wide enough for any number of items: a sum that is cut off would seem to fit.
        let mut kept_tokens = 0_i128;
        let (kept, dropped): (Vec<_>, Vec<_>) =
            merged.into_iter().partition(|Selected { scored, .. }| {
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
            for Selected { scored, .. } in dropped {
                observer.excluded(&STAGE, scored, explain.why_not(scored.tokens(), available));
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

impl Pipeline {
    /// Places a selection: pinned items, then sliced ones with their scores, in the slicer's
    /// order. `arrival` says which came first, by number. Answers with positions in `items`.
    pub(crate) fn place_selected(
        &self,
        items: &[ContextItem],
        scores: &[f64],
        arrival: &[usize],
        arrived: usize,
        budget: &ContextBudget,
        collector: &mut dyn TraceCollector,
    ) -> Result<Vec<usize>, CupelError> {
        let span = spans::pipeline(arrived, budget);
        let _entered = span.enter();
        let mut observer = Observer::begin(collector, arrived, budget);
        let pinned = items.len().saturating_sub(scores.len());
        let (pinned_items, sliced) = items.split_at(pinned);
        let classified = Classified {
            items,
            pinned: (0..pinned as u32).collect(),
            pinned_tokens: pinned_items.iter().map(|item| i128::from(item.tokens())).sum(),
            scoreable: Vec::new(),
            scoreable_items: Cow::Borrowed(&[]),
        };
        let scored = sliced.iter().zip(scores).map(|(item, score)| ScoredItem::new(item, *score));
        let ranked = Ranked {
            classified,
            sorted: scored.collect(),
            positions: (pinned as u32..items.len() as u32).collect(),
        };
        let place = Place {
            pipeline: self,
            ranked: &ranked,
            budget,
            arrival,
            on_overflow: self.overflow_observer.as_ref(),
        };
        let all: Vec<usize> = (0..scores.len()).collect();
        let fits = ranked.classified.check_pinned(budget);
        let placed = fits.and_then(|()| place.place(&all, &mut observer));
        observer.end(&span, placed.as_ref().map(|_| ()));
        placed
    }
}
