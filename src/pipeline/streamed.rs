//! The last stage by itself, for a selection that was made while items arrived.

use std::borrow::Cow;

use super::classify::Classified;
use super::observe::Observer;
use super::place::Place;
use super::{Pipeline, Ranked, positions_in};
use crate::diagnostics::{TraceCollector, spans};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, ScoredItem};

impl Pipeline {
    /// Places a selection: pinned items, then sliced ones with their scores, in the slicer's
    /// order. Answers with positions in `items`.
    pub(crate) fn place_selected(
        &self,
        items: &[ContextItem],
        scores: &[f64],
        arrived: usize,
        budget: &ContextBudget,
        collector: &mut dyn TraceCollector,
    ) -> Result<Vec<usize>, CupelError> {
        let span = spans::pipeline(arrived, budget);
        let _entered = span.enter();
        let mut observer = Observer::begin(collector, arrived, budget);
        let (pinned, sliced) = items.split_at(items.len().saturating_sub(scores.len()));
        let pinned_tokens = pinned.iter().map(|item| i128::from(item.tokens())).sum();
        let classified = Classified {
            pinned: pinned.iter().collect(),
            pinned_tokens,
            scoreable: Vec::new(),
            scoreable_items: Cow::Borrowed(&[]),
        };
        let ranked = Ranked { classified, sorted: Vec::new() };
        let sliced = sliced.iter().zip(scores).map(|(item, score)| ScoredItem::new(item, *score));
        let place = Place {
            pipeline: self,
            ranked: &ranked,
            budget,
            on_overflow: self.overflow_observer.as_ref(),
        };
        let placed = place.place(sliced.collect(), &mut observer);
        observer.end(placed.as_ref().map(|_| ()));
        Ok(positions_in(items, placed?))
    }
}
