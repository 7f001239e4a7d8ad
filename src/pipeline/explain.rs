//! Why an item does not fit.

use crate::diagnostics::ExclusionReason;
use crate::model::{ContextBudget, ContextItem};

/// Tells a full budget from one that pinned items have used up.
pub(crate) struct Explain<'a> {
    target: i64,
    target_without_pins: i64,
    first_pinned: Option<&'a ContextItem>,
}

impl<'a> Explain<'a> {
    pub(crate) fn new(
        budget: &ContextBudget,
        pinned_tokens: i64,
        first_pinned: Option<&'a ContextItem>,
    ) -> Self {
        Self {
            target: budget.effective(pinned_tokens).target_tokens(),
            target_without_pins: budget.effective(0).target_tokens(),
            first_pinned,
        }
    }

    /// The effective target.
    pub(crate) fn target(&self) -> i64 {
        self.target
    }

    pub(crate) fn why_not(&self, item_tokens: i64, available_tokens: i64) -> ExclusionReason {
        let only_for_pins = item_tokens > self.target && item_tokens <= self.target_without_pins;
        match self.first_pinned {
            Some(pinned) if only_for_pins => {
                ExclusionReason::PinnedOverride { displaced_by: pinned.shared_content() }
            }
            _ => ExclusionReason::BudgetExceeded { item_tokens, available_tokens },
        }
    }
}
