//! Items that did not fit, by exact token counts.

use cupel::ContextItem;

use crate::reports::{duplicate, empty, excluded, failure, report, too_large};

fn is_log(item: &ContextItem) -> bool {
    item.content() == "log"
}

#[test]
fn exact_token_counts_pass() {
    let report = report([], [excluded("log", 0.5, too_large(400, 50))]);
    report.should().exclude_item_with_budget_details(is_log, 400, 50);
}

#[test]
fn any_of_several_matches_may_have_the_counts() {
    let excluded = [
        excluded("log", 0.9, duplicate()),
        excluded("log", 0.8, too_large(300, 50)),
        excluded("log", 0.7, too_large(400, 50)),
    ];
    report([], excluded).should().exclude_item_with_budget_details(is_log, 400, 50);
}

#[test]
fn a_token_more_or_less_fails_and_both_pairs_are_told() {
    let report = report([], [excluded("log", 0.5, too_large(400, 50))]);
    let text = |item, free| {
        failure(report.should().try_exclude_item_with_budget_details(is_log, item, free))
    };
    assert_eq!(
        text(401, 50),
        "ExcludeItemWithBudgetDetails failed: expected BudgetExceeded with item_tokens=401, \
         available_tokens=50, but found item_tokens=400, available_tokens=50.",
    );
    assert_eq!(
        text(400, 49),
        "ExcludeItemWithBudgetDetails failed: expected BudgetExceeded with item_tokens=400, \
         available_tokens=49, but found item_tokens=400, available_tokens=50.",
    );
}

#[test]
fn the_first_match_that_did_not_fit_is_told() {
    let excluded = [
        excluded("other", 1.0, too_large(1, 1)),
        excluded("log", 0.9, duplicate()),
        excluded("log", 0.8, too_large(300, 50)),
        excluded("log", 0.7, too_large(400, 50)),
    ];
    assert_eq!(
        failure(report([], excluded).should().try_exclude_item_with_budget_details(is_log, 2, 3)),
        "ExcludeItemWithBudgetDetails failed: expected BudgetExceeded with item_tokens=2, \
         available_tokens=3, but found item_tokens=300, available_tokens=50.",
    );
}

#[test]
fn a_match_left_out_for_another_reason_is_told_with_that_reason() {
    let excluded = [excluded("other", 0.9, too_large(2, 3)), excluded("log", 0.5, duplicate())];
    assert_eq!(
        failure(report([], excluded).should().try_exclude_item_with_budget_details(is_log, 2, 3)),
        "ExcludeItemWithBudgetDetails failed: expected BudgetExceeded with item_tokens=2, \
         available_tokens=3, but no matching item had reason BudgetExceeded. \
         Predicate matched 1 excluded item(s) with reasons: [Deduplicated].",
    );
}

#[test]
fn a_predicate_that_matches_nothing_is_told_as_such() {
    let expected = "ExcludeItemWithBudgetDetails failed: expected BudgetExceeded with \
         item_tokens=2, available_tokens=3, but no matching item had reason BudgetExceeded. \
         Predicate matched 0 excluded item(s) with reasons: [].";
    for report in [empty(), report([], [excluded("other", 0.9, too_large(2, 3))])] {
        let outcome = report.should().try_exclude_item_with_budget_details(is_log, 2, 3);
        assert_eq!(failure(outcome), expected);
    }
}
