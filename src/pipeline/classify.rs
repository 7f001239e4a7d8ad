//! Stage 1: pinned items, items to score, and items that are not valid.

use std::borrow::Cow;

use super::Explain;
use super::observe::Observer;
use crate::diagnostics::{ExclusionReason, PipelineStage, TraceCollector};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, ScoredItem};

/// The candidates, partitioned; the caller's order is kept within each part.
pub(super) struct Classified<'a> {
    pub(super) pinned: Vec<&'a ContextItem>,
    /// Wide enough for any number of items: a sum that is cut off would seem to fit.
    pub(super) pinned_tokens: i128,
    pub(super) scoreable: Vec<&'a ContextItem>,
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
    for item in items {
        let tokens = item.tokens();
        if tokens < 0 {
            if observer.wants_items() {
                let reason = ExclusionReason::NegativeTokens { tokens };
                observer.excluded(&STAGE, ScoredItem::new(item, 0.0), reason);
            }
        } else if item.pinned() {
            pinned.push(item);
            pinned_tokens += i128::from(tokens);
        } else {
            scoreable.push(item);
        }
    }
    let scoreable_items = if scoreable.len() == items.len() {
        Cow::Borrowed(items)
    } else {
        scoreable.iter().copied().cloned().collect()
    };
    let classified = Classified { pinned, pinned_tokens, scoreable, scoreable_items };
    observer.leave(running, classified.pinned.len() + classified.scoreable.len());
    classified
}

impl<'a> Classified<'a> {
    /// Explains why items do not fit beside the pinned ones.
    pub(super) fn explain(&self, budget: &ContextBudget) -> Explain<'a> {
        Explain::new(budget, saturated(self.pinned_tokens), self.pinned.first().copied())
    }

    /// Fails when the pinned items alone exceed what the budget has for context.
    pub(super) fn check_pinned(&self, budget: &ContextBudget) -> Result<(), CupelError> {
        let available_tokens = budget.max_tokens().saturating_sub(budget.output_reserve());
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
