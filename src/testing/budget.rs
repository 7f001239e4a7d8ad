//! The assertion about how full the budget is.

use super::chain::or_panic;
use super::{Outcome, SelectionReportAssertionChain, SelectionReportAssertionError};
use crate::analytics::budget_utilization;
use crate::diagnostics::SelectionReport;
use crate::model::ContextBudget;

#[allow(clippy::must_use_candidate)] // the last assertion of a chain ends a statement
impl<'a> SelectionReportAssertionChain<'a> {
    /// The included items use at least this part of the budget's `max_tokens`.
    ///
    /// The threshold itself passes. The comparison is exact, so pick a threshold away from the
    /// value to be expected: 0.799 rather than 0.8.
    ///
    /// # Panics
    ///
    /// When they use less.
    #[track_caller]
    pub fn have_budget_utilization_above(self, threshold: f64, budget: &ContextBudget) -> Self {
        or_panic(self.try_have_budget_utilization_above(threshold, budget))
    }

    /// As [`have_budget_utilization_above`](Self::have_budget_utilization_above), but returns the
    /// failure.
    ///
    /// # Errors
    ///
    /// When the included items use less of the budget.
    pub fn try_have_budget_utilization_above(
        self,
        threshold: f64,
        budget: &ContextBudget,
    ) -> Outcome<'a> {
        let actual = budget_utilization(self.report, budget);
        if actual >= threshold {
            return Ok(self);
        }
        let (tokens, max_tokens) = (included_tokens(self.report), budget.max_tokens());
        Err(SelectionReportAssertionError::new(
            "HaveBudgetUtilizationAbove",
            format_args!(
                "({threshold}) failed: computed utilization was {actual:.6} \
                 (includedTokens={tokens}, budget.MaxTokens={max_tokens})."
            ),
        ))
    }
}

fn included_tokens(report: &SelectionReport) -> i64 {
    report.included.iter().fold(0, |sum, included| sum.saturating_add(included.item.tokens()))
}
