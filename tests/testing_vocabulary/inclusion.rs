//! Selected items.

use cupel::ContextKind;
use cupel::diagnostics::InclusionReason;

use crate::reports::{
    document, empty, excluded_of_kind, failure, included, message, report, too_large, tool_output,
    with_scores,
};

#[test]
fn one_item_of_the_kind_is_enough() {
    let report = report([included(tool_output(), 0.9), included(message(), 0.1)], []);
    report.should().include_item_with_kind(message());
}

#[test]
fn a_kind_may_be_lent_and_is_matched_in_any_case() {
    let report = report([included(tool_output(), 0.9)], []);
    let kind = ContextKind::new("TOOLOUTPUT").unwrap();
    report.should().include_item_with_kind(&kind).include_exactly_n_items_with_kind(&kind, 1);
}

#[test]
fn a_missing_kind_is_told_with_the_kinds_that_are_there() {
    let items = [message(), tool_output(), message()].map(|kind| included(kind, 0.5));
    let report = report(items, []);
    assert_eq!(
        failure(report.should().try_include_item_with_kind(document())),
        "IncludeItemWithKind(Document) failed: Included contained 0 items with Kind=Document. \
         Included had 3 items with kinds: [Message, ToolOutput].",
    );
}

#[test]
fn no_kind_is_in_an_empty_selection() {
    assert_eq!(
        failure(empty().should().try_include_item_with_kind(message())),
        "IncludeItemWithKind(Message) failed: Included contained 0 items with Kind=Message. \
         Included had 0 items with kinds: [].",
    );
}

#[test]
fn a_kind_that_was_only_excluded_is_not_included() {
    let report = report([], [excluded_of_kind(document(), 0.5, too_large(9, 1))]);
    assert!(report.should().try_include_item_with_kind(document()).is_err());
}

#[test]
fn the_predicate_sees_item_score_and_reason() {
    let mut pinned = included(document(), 1.0);
    pinned.reason = InclusionReason::Pinned;
    let report = report([included(message(), 0.2), pinned], []);
    report.should().include_item_matching(|included| {
        included.reason == InclusionReason::Pinned
            && included.score == 1.0
            && included.item.kind() == "Document"
    });
}

#[test]
fn without_a_match_the_items_are_summarised() {
    let mut pinned = included(document(), 1.0);
    pinned.reason = InclusionReason::Pinned;
    let report = report([pinned, included(message(), 0.25)], []);
    assert_eq!(
        failure(report.should().try_include_item_matching(|_| false)),
        "IncludeItemMatching failed: no item in Included matched the predicate. \
         Included had 2 items.\n  \
         0: kind=Document, score=1, reason=Pinned\n  \
         1: kind=Message, score=0.25, reason=Scored",
    );
}

#[test]
fn five_items_are_summarised_in_full() {
    let text = failure(with_scores([0.5; 5]).should().try_include_item_matching(|_| false));
    assert!(text.ends_with("\n  4: kind=Message, score=0.5, reason=Scored"), "{text}");
}

#[test]
fn a_summary_stops_after_five_items() {
    let report = with_scores([0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]);
    assert_eq!(
        failure(report.should().try_include_item_matching(|included| included.score > 0.9)),
        "IncludeItemMatching failed: no item in Included matched the predicate. \
         Included had 7 items.\n  \
         0: kind=Message, score=0.7, reason=Scored\n  \
         1: kind=Message, score=0.6, reason=Scored\n  \
         2: kind=Message, score=0.5, reason=Scored\n  \
         3: kind=Message, score=0.4, reason=Scored\n  \
         4: kind=Message, score=0.3, reason=Scored\n  \
         and 2 more",
    );
}

#[test]
fn nothing_matches_in_an_empty_selection() {
    assert_eq!(
        failure(empty().should().try_include_item_matching(|_| true)),
        "IncludeItemMatching failed: no item in Included matched the predicate. \
         Included had 0 items.",
    );
}

#[test]
fn the_exact_number_of_a_kind_passes() {
    let items = [message(), tool_output(), message()].map(|kind| included(kind, 0.5));
    report(items, []).should().include_exactly_n_items_with_kind(message(), 2);
}

#[test]
fn both_too_few_and_too_many_of_a_kind_fail() {
    let items = [message(), tool_output(), message()].map(|kind| included(kind, 0.5));
    let report = report(items, []);
    let text = |n| failure(report.should().try_include_exactly_n_items_with_kind(message(), n));
    assert_eq!(
        text(3),
        "IncludeExactlyNItemsWithKind(Message, 3) failed: expected 3 items with Kind=Message in \
         Included, but found 2. Included had 3 items total.",
    );
    assert_eq!(
        text(1),
        "IncludeExactlyNItemsWithKind(Message, 1) failed: expected 1 items with Kind=Message in \
         Included, but found 2. Included had 3 items total.",
    );
}

#[test]
fn zero_of_a_kind_holds_in_an_empty_selection() {
    empty().should().include_exactly_n_items_with_kind(message(), 0);
}

#[test]
fn zero_of_a_kind_asks_about_the_selection_and_not_about_the_exclusions() {
    let report = report([], [excluded_of_kind(document(), 0.5, too_large(9, 1))]);
    report.should().include_exactly_n_items_with_kind(document(), 0);
    assert!(report.should().try_have_no_exclusions_for_kind(document()).is_err());
}

#[test]
fn one_of_a_kind_is_not_in_an_empty_selection() {
    assert_eq!(
        failure(empty().should().try_include_exactly_n_items_with_kind(message(), 1)),
        "IncludeExactlyNItemsWithKind(Message, 1) failed: expected 1 items with Kind=Message in \
         Included, but found 0. Included had 0 items total.",
    );
}
