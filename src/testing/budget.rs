//! The assertion about how full the budget is.

use super::assertions::assertions;
use crate::analytics::budget_utilization;
use crate::model::ContextBudget;

assertions! {
    /// The included items use at least this part of the budget's `max_tokens`.
    ///
    /// The threshold itself passes. The comparison is exact, so pick a threshold away from the
    /// value to be expected: 0.799 rather than 0.8.
    "HaveBudgetUtilizationAbove":
    have_budget_utilization_above, try_have_budget_utilization_above
    |report, threshold: f64, budget: &ContextBudget| {
        let actual = budget_utilization(report, budget);
        if actual >= threshold {
            return None;
        }
        let tokens = report.included.iter().map(|included| included.item.tokens());
        let (tokens, max_tokens) = (tokens.fold(0, i64::saturating_add), budget.max_tokens());
        Some(format!(
            "({threshold}) failed: computed utilization was {actual:.6} \
             (includedTokens={tokens}, budget.MaxTokens={max_tokens})."
        ))
    }
}
