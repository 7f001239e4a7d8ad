//! The last stage by itself, for a selection that was made while items arrived.

use std::borrow::Cow;

use super::classify::Classified;
use super::observe::Observer;
use super::place::Place;
use super::{Pipeline, Ranked};
use crate::diagnostics::{TraceCollector, spans};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, ScoredItem};

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
