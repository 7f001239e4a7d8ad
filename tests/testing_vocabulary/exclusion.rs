//! Excluded items and their reasons.

use cupel::testing::ReasonKind;

use crate::reports::{
    document, duplicate, empty, excluded, excluded_of_kind, failure, included, message, report,
    too_large,
};

#[test]
fn the_variant_of_the_reason_counts_and_not_its_numbers() {
    let report = report([], [excluded("log", 0.5, too_large(400, 50))]);
    report
        .should()
        .exclude_item_with_reason(ReasonKind::BudgetExceeded)
        .exclude_item_with_reason(&too_large(1, 2));
}

#[test]
fn a_missing_reason_is_told_with_the_reasons_that_are_there() {
    let excluded = [
        excluded("a", 0.9, too_large(400, 50)),
        excluded("b", 0.8, duplicate()),
        excluded("c", 0.7, too_large(300, 50)),
    ];
    assert_eq!(
        failure(report([], excluded).should().try_exclude_item_with_reason(ReasonKind::Filtered)),
        "ExcludeItemWithReason(Filtered) failed: no excluded item had reason Filtered. \
         Excluded had 3 items with reasons: [BudgetExceeded, Deduplicated].",
    );
}

#[test]
fn no_reason_is_there_when_nothing_was_excluded() {
    assert_eq!(
        failure(empty().should().try_exclude_item_with_reason(ReasonKind::BudgetExceeded)),
        "ExcludeItemWithReason(BudgetExceeded) failed: no excluded item had reason \
         BudgetExceeded. Excluded had 0 items with reasons: [].",
    );
}

#[test]
fn one_item_has_to_match_and_have_the_reason() {
    let excluded = [excluded("log", 0.9, too_large(400, 50)), excluded("log", 0.8, duplicate())];
    report([], excluded).should().exclude_item_matching_with_reason(
        |item| item.content() == "log",
        ReasonKind::Deduplicated,
    );
}

#[test]
fn a_match_and_the_reason_on_different_items_do_not_add_up() {
    let excluded = [
        excluded("log", 0.9, too_large(400, 50)),
        excluded("other", 0.8, duplicate()),
        excluded("log", 0.7, too_large(300, 50)),
    ];
    let report = report([], excluded);
    let outcome = report.should().try_exclude_item_matching_with_reason(
        |item| item.content() == "log",
        ReasonKind::Deduplicated,
    );
    assert_eq!(
        failure(outcome),
        "ExcludeItemMatchingWithReason(reason=Deduplicated) failed: predicate matched 2 excluded \
         item(s) but none had reason Deduplicated. Matched items had reasons: [BudgetExceeded].",
    );
}

const NOTHING_MATCHED: &str = "ExcludeItemMatchingWithReason(reason=BudgetExceeded) failed: \
    predicate matched 0 excluded item(s) but none had reason BudgetExceeded. \
    Matched items had reasons: [].";

#[test]
fn a_predicate_that_matches_nothing_is_told_as_such() {
    let report = report([], [excluded("log", 0.9, too_large(400, 50))]);
    let outcome = report
        .should()
        .try_exclude_item_matching_with_reason(|_| false, ReasonKind::BudgetExceeded);
    assert_eq!(failure(outcome), NOTHING_MATCHED);
}

#[test]
fn no_predicate_matches_when_nothing_was_excluded() {
    let report = empty();
    let outcome =
        report.should().try_exclude_item_matching_with_reason(|_| true, ReasonKind::BudgetExceeded);
    assert_eq!(failure(outcome), NOTHING_MATCHED);
}

#[test]
fn a_kind_that_was_only_included_has_no_exclusions() {
    let report = report([included(document(), 0.5)], [excluded("log", 0.5, duplicate())]);
    report.should().have_no_exclusions_for_kind(document());
}

#[test]
fn no_kind_has_exclusions_when_nothing_was_excluded() {
    empty().should().have_no_exclusions_for_kind(message());
}

#[test]
fn an_exclusion_of_the_kind_is_told_with_the_first_of_them() {
    let excluded = [
        excluded_of_kind(message(), 0.9, too_large(9, 1)),
        excluded_of_kind(document(), 0.75, duplicate()),
        excluded_of_kind(document(), 0.5, too_large(9, 1)),
    ];
    assert_eq!(
        failure(report([], excluded).should().try_have_no_exclusions_for_kind(document())),
        "HaveNoExclusionsForKind(Document) failed: found 2 excluded item(s) with Kind=Document. \
         First: score=0.75, reason=Deduplicated.",
    );
}
