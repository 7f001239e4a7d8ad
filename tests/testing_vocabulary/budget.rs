//! Utilization of the budget.

use cupel::diagnostics::{IncludedItem, InclusionReason};
use cupel::{ContextBudget, ContextItem, SelectionReport};

use crate::reports::{empty, excluded, failure, report, too_large, with_scores};

fn budget(max_tokens: i64) -> ContextBudget {
    ContextBudget::builder(max_tokens).target_tokens(max_tokens / 2).build().unwrap()
}

/// Three items of 10 tokens.
fn thirty_tokens() -> SelectionReport {
    with_scores([0.9, 0.8, 0.7])
}

#[test]
fn the_threshold_itself_passes_without_any_tolerance() {
    let budget = budget(40);
    thirty_tokens().should().have_budget_utilization_above(0.75, &budget);
    let next = f64::from_bits(0.75_f64.to_bits() + 1);
    assert!(thirty_tokens().should().try_have_budget_utilization_above(next, &budget).is_err());
}

#[test]
fn utilization_is_of_max_tokens_and_not_of_the_target() {
    assert_eq!(
        failure(thirty_tokens().should().try_have_budget_utilization_above(0.8, &budget(90))),
        "HaveBudgetUtilizationAbove(0.8) failed: computed utilization was 0.333333 \
         (includedTokens=30, budget.MaxTokens=90).",
    );
}

#[test]
fn excluded_tokens_do_not_count() {
    let report = report([], [excluded("log", 0.5, too_large(10, 5))]);
    assert!(report.should().try_have_budget_utilization_above(0.1, &budget(10)).is_err());
}

#[test]
fn an_empty_selection_uses_nothing() {
    assert_eq!(
        failure(empty().should().try_have_budget_utilization_above(0.1, &budget(100))),
        "HaveBudgetUtilizationAbove(0.1) failed: computed utilization was 0.000000 \
         (includedTokens=0, budget.MaxTokens=100).",
    );
}

#[test]
fn a_threshold_of_zero_always_passes() {
    empty().should().have_budget_utilization_above(0.0, &budget(100));
    thirty_tokens().should().have_budget_utilization_above(0.0, &budget(100));
}

#[test]
fn a_threshold_above_one_asks_for_too_many_tokens() {
    thirty_tokens().should().have_budget_utilization_above(1.25, &budget(20));
    assert_eq!(
        failure(thirty_tokens().should().try_have_budget_utilization_above(1.25, &budget(30))),
        "HaveBudgetUtilizationAbove(1.25) failed: computed utilization was 1.000000 \
         (includedTokens=30, budget.MaxTokens=30).",
    );
}

#[test]
fn a_budget_without_tokens_is_not_used_at_all() {
    assert_eq!(
        failure(thirty_tokens().should().try_have_budget_utilization_above(0.5, &budget(0))),
        "HaveBudgetUtilizationAbove(0.5) failed: computed utilization was 0.000000 \
         (includedTokens=30, budget.MaxTokens=0).",
    );
}

#[test]
fn a_threshold_that_is_not_a_number_never_passes() {
    let report = thirty_tokens();
    assert!(report.should().try_have_budget_utilization_above(f64::NAN, &budget(30)).is_err());
}

#[test]
fn token_sums_beyond_all_bounds_do_not_wrap() {
    let item = ContextItem::new("huge", i64::MAX).unwrap();
    let huge = IncludedItem::new(item, 1.0, InclusionReason::Scored);
    report([huge.clone(), huge], []).should().have_budget_utilization_above(1.0, &budget(100));
}
