//! Number of selected kinds.

use cupel::ContextKind;

use crate::reports::{empty, failure, included, message, report, tool_output, with_scores};

#[test]
fn as_many_kinds_or_more_pass() {
    let items = [message(), tool_output(), message()].map(|kind| included(kind, 0.5));
    report(items, []).should().have_kind_coverage_count(2).have_kind_coverage_count(1);
}

#[test]
fn too_few_kinds_fail_with_those_that_are_there() {
    let items = [message(), tool_output(), message()].map(|kind| included(kind, 0.5));
    assert_eq!(
        failure(report(items, []).should().try_have_kind_coverage_count(3)),
        "HaveKindCoverageCount(3) failed: expected at least 3 distinct ContextKind values in \
         Included, but found 2: [Message, ToolOutput].",
    );
}

#[test]
fn zero_kinds_always_hold() {
    empty().should().have_kind_coverage_count(0);
    with_scores([0.5]).should().have_kind_coverage_count(0);
}

#[test]
fn an_empty_selection_has_no_kinds() {
    assert_eq!(
        failure(empty().should().try_have_kind_coverage_count(1)),
        "HaveKindCoverageCount(1) failed: expected at least 1 distinct ContextKind values in \
         Included, but found 0: [].",
    );
}

#[test]
fn many_items_of_one_kind_are_one_kind() {
    let report = with_scores([0.9, 0.8, 0.7]);
    report.should().have_kind_coverage_count(1);
    assert_eq!(
        failure(report.should().try_have_kind_coverage_count(2)),
        "HaveKindCoverageCount(2) failed: expected at least 2 distinct ContextKind values in \
         Included, but found 1: [Message].",
    );
}

#[test]
fn spellings_of_one_kind_are_one_kind() {
    let kinds = ["note", "Note", "NOTE"].map(|text| ContextKind::new(text).unwrap());
    let report = report(kinds.map(|kind| included(kind, 0.5)), []);
    assert_eq!(
        failure(report.should().try_have_kind_coverage_count(2)),
        "HaveKindCoverageCount(2) failed: expected at least 2 distinct ContextKind values in \
         Included, but found 1: [note].",
    );
}
