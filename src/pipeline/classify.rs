//! Stage 1: pinned items, items to score, and items that are not valid.

use std::borrow::Cow;

use super::Explain;
use super::observe::Observer;
use crate::diagnostics::{ExclusionReason, PipelineStage, TraceCollector};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, ScoredItem};

/// The candidates, partitioned by position; the caller's order is kept within each part.
pub(super) struct Classified<'a> {
    /// All candidates, which the positions point into.
    pub(super) items: &'a [ContextItem],
    pub(super) pinned: Vec<u32>,
    /// Wide enough for any number of items: a sum that is cut off would seem to fit.
    pub(super) pinned_tokens: i128,
    pub(super) scoreable: Vec<u32>,
    /// The scoreable items as scorers want them: the caller's own list when that is all of it.
    pub(super) scoreable_items: Cow<'a, [ContextItem]>,
}

/// Partitions `items`.
pub(super) fn classify<'a, C: TraceCollector + ?Sized>(
    items: &'a [ContextItem],
    observer: &mut Observer<'_, C>,
) -> Classified<'a> {
    const STAGE: PipelineStage = PipelineStage::Classify;
    let running = observer.enter(STAGE, items.len());
    let mut pinned = Vec::new();
    let mut pinned_tokens = 0_i128;
    let mut scoreable = Vec::with_capacity(items.len());
    for (position, item) in (0..).zip(items) {
        let tokens = item.tokens();
        if tokens < 0 {
            if observer.wants_items() {
                let reason = ExclusionReason::NegativeTokens { tokens };
                observer.excluded(&STAGE, ScoredItem::new(item, 0.0), reason);
            }
        } else if item.pinned() {
            pinned.push(position);
            pinned_tokens += i128::from(tokens);
        } else {
            scoreable.push(position);
        }
    }
    let scoreable_items = if scoreable.len() == items.len() {
        Cow::Borrowed(items)
    } else {
        let item = |position: &u32| items.get(*position as usize).cloned();
        scoreable.iter().filter_map(item).collect()
    };
    let classified = Classified { items, pinned, pinned_tokens, scoreable, scoreable_items };
    observer.leave(running, classified.pinned.len() + classified.scoreable.len());
    classified
}

impl<'a> Classified<'a> {
    pub(super) fn item(&self, position: u32) -> Option<&'a ContextItem> {
        self.items.get(position as usize)
    }

    /// Explains why items do not fit beside the pinned ones.
    pub(super) fn explain(&self, budget: &ContextBudget) -> Explain<'a> {
        let first_pinned = self.pinned.first().and_then(|position| self.item(*position));
        Explain::new(budget, saturated(self.pinned_tokens), first_pinned)
    }

    /// Fails when the pinned items alone exceed what the budget has for context.
    pub(super) fn check_pinned(&self, budget: &ContextBudget) -> Result<(), CupelError> {
        let available_tokens = budget.available_tokens();
        if self.pinned_tokens > i128::from(available_tokens) {
            return Err(CupelError::PinnedExceedsBudget {
                pinned_tokens: saturated(self.pinned_tokens),
                available_tokens,
            });
        }
        Ok(())
    }
}

/// The number as tokens, as near as it gets.
pub(super) fn saturated(tokens: i128) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}
