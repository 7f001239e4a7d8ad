//! The list of exclusions as a whole.

use cupel::SelectionReport;
use cupel::diagnostics::ExcludedItem;

use crate::reports::{duplicate, empty, excluded, failure, report};

fn excluded_with_scores(scores: impl IntoIterator<Item = f64>) -> SelectionReport {
    let item = |score| -> ExcludedItem { excluded("log", score, duplicate()) };
    report([], scores.into_iter().map(item))
}

#[test]
fn as_many_exclusions_or_more_pass() {
    let report = excluded_with_scores([0.9, 0.8]);
    report.should().have_at_least_n_exclusions(2).have_at_least_n_exclusions(1);
}

#[test]
fn too_few_exclusions_fail_with_both_numbers() {
    assert_eq!(
        failure(excluded_with_scores([0.9, 0.8]).should().try_have_at_least_n_exclusions(3)),
        "HaveAtLeastNExclusions(3) failed: expected at least 3 excluded items, \
         but Excluded had 2.",
    );
}

#[test]
fn zero_exclusions_always_hold() {
    empty().should().have_at_least_n_exclusions(0);
    excluded_with_scores([0.9]).should().have_at_least_n_exclusions(0);
}

#[test]
fn one_exclusion_is_not_in_an_empty_list() {
    assert_eq!(
        failure(empty().should().try_have_at_least_n_exclusions(1)),
        "HaveAtLeastNExclusions(1) failed: expected at least 1 excluded items, \
         but Excluded had 0.",
    );
}

#[test]
fn falling_and_equal_scores_are_sorted() {
    let report = excluded_with_scores([0.9, 0.5, 0.5, -0.0, 0.0, -1.0]);
    report.should().excluded_items_are_sorted_by_score_descending();
}

#[test]
fn none_and_one_exclusion_are_sorted() {
    empty().should().excluded_items_are_sorted_by_score_descending();
    excluded_with_scores([0.1]).should().excluded_items_are_sorted_by_score_descending();
}

#[test]
fn the_first_rising_score_is_told() {
    let report = excluded_with_scores([0.9, 0.5, 0.75, 0.1, 0.2]);
    assert_eq!(
        failure(report.should().try_excluded_items_are_sorted_by_score_descending()),
        "ExcludedItemsAreSortedByScoreDescending failed: item at index 2 (score=0.75) is higher \
         than item at index 1 (score=0.5). Expected non-increasing scores.",
    );
}

#[test]
fn scores_that_are_not_numbers_come_last() {
    let sorted = excluded_with_scores([0.5, f64::NEG_INFINITY, f64::NAN, f64::NAN]);
    sorted.should().excluded_items_are_sorted_by_score_descending();
    assert_eq!(
        failure(
            excluded_with_scores([f64::NAN, 0.5])
                .should()
                .try_excluded_items_are_sorted_by_score_descending()
        ),
        "ExcludedItemsAreSortedByScoreDescending failed: item at index 1 (score=0.5) is higher \
         than item at index 0 (score=NaN). Expected non-increasing scores.",
    );
}

#[test]
fn a_report_puts_its_exclusions_in_this_order() {
    let scores = [0.2, f64::NAN, 0.9, 0.0, 0.9];
    let excluded = scores.map(|score| excluded("log", score, duplicate())).to_vec();
    let report = SelectionReport::new(vec![], vec![], excluded, vec![]);
    report.should().excluded_items_are_sorted_by_score_descending();
}
