//! The room of one call: its budget less what is sent anyway, and errors about it.

use super::{BudgetLimits, BudgetOrigin, ContextError};
use crate::conversation::Conversation;
use crate::conversation::tools::ToolRoom;
use crate::error::CupelError;
use crate::gather::SelectionFailure;
use crate::model::{ContextBudget, ContextItem};

/// The whole budget of a call, and the fixed tokens that came off it.
pub(super) struct CallRoom {
    whole: ContextBudget,
    limits: BudgetLimits,
    fixed_tokens: i64,
}

impl CallRoom {
    pub(super) fn new(whole: ContextBudget, origin: BudgetOrigin) -> Self {
        Self { limits: BudgetLimits::of(&whole, origin), whole, fixed_tokens: 0 }
    }

    /// The model's window.
    pub(super) fn window(&self) -> i64 {
        self.whole.max_tokens()
    }

    /// The window on which the grid depends, if it is another one.
    pub(super) fn grid_window(&self) -> Option<i64> {
        self.limits.origin.grid_window
    }

    pub(super) fn fixed_tokens(&self) -> i64 {
        self.fixed_tokens
    }

    /// Refuses negative counts: taken off the budget they would make it larger than the window.
    pub(super) fn check<const N: usize>(counts: [(&str, i64); N]) -> Result<(), ContextError> {
        match counts.into_iter().find(|(_, tokens)| *tokens < 0) {
            None => Ok(()),
            Some((field, tokens)) => {
                let problem = format!("{field} must be at least 0, got {tokens}");
                Err(ContextError::Adapter(problem.into()))
            }
        }
    }

    /// Numbers to choose tools by, if none are left out.
    pub(super) fn for_tools(&self, fixed_tokens: i64, own: &[ContextItem]) -> ToolRoom {
        ToolRoom::of(&self.whole, fixed_tokens, own)
    }

    /// Takes so many more fixed tokens off. Returns the budget that is left.
    pub(super) fn take_off(&mut self, tokens: i64) -> Result<ContextBudget, ContextError> {
        self.fixed_tokens = self.fixed_tokens.saturating_add(tokens);
        let fixed_tokens = self.fixed_tokens;
        let left = self.whole.plus(fixed_tokens.saturating_neg());
        left.map_err(|_| ContextError::FixedTokens {
            fixed_tokens,
            available_tokens: self.whole.available_tokens(),
            limits: Box::new(self.limits),
        })
    }

    /// Says more about pinned items that do not fit; other errors stay as they are.
    pub(super) fn explain(
        &self,
        not_selected: SelectionFailure,
        conversation: Option<&Conversation>,
    ) -> ContextError {
        let SelectionFailure { error, largest } = not_selected;
        if !matches!(error, CupelError::PinnedExceedsBudget { .. }) {
            return error.into();
        }
        // In words that show nothing of the content.
        let described = largest.into_iter().map(|(own, item)| {
            let unit = conversation.zip(own);
            let unit = unit.and_then(|(talk, candidate)| talk.describe(candidate, item.kind()));
            let other = || format!("an item of kind {}", item.kind().label());
            (unit.unwrap_or_else(other), item.tokens())
        });
        let (fixed_tokens, limits) = (self.fixed_tokens, Box::new(self.limits));
        ContextError::Pinned { error, largest: described.collect(), fixed_tokens, limits }
    }
}
