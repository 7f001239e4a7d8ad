//! One item at an edge.

use crate::reports::{empty, failure, with_scores};

#[test]
fn the_first_and_the_last_item_are_at_an_edge() {
    let report = with_scores([0.9, 0.1, 0.2, 0.8]);
    report
        .should()
        .place_item_at_edge(|included| included.score == 0.9)
        .place_item_at_edge(|included| included.score == 0.8);
}

#[test]
fn a_single_item_is_at_both_edges() {
    with_scores([0.5]).should().place_item_at_edge(|included| included.score == 0.5);
}

#[test]
fn a_match_inside_does_not_hide_a_match_at_the_edge() {
    with_scores([0.9, 0.1, 0.1]).should().place_item_at_edge(|included| included.score == 0.1);
}

#[test]
fn an_item_inside_is_told_with_its_index() {
    let report = with_scores([0.9, 0.3, 0.1, 0.2, 0.8]);
    assert_eq!(
        failure(report.should().try_place_item_at_edge(|included| included.score < 0.25)),
        "PlaceItemAtEdge failed: item matching predicate was at index 2 (not at edge). \
         Edge positions: 0 and 4. Included had 5 items.",
    );
}

#[test]
fn the_score_of_an_edge_item_does_not_make_an_edge() {
    let report = with_scores([0.5, 0.5, 0.5]);
    let mut position = 0;
    let is_second = |_: &cupel::diagnostics::IncludedItem| {
        position += 1;
        position == 2
    };
    assert_eq!(
        failure(report.should().try_place_item_at_edge(is_second)),
        "PlaceItemAtEdge failed: item matching predicate was at index 1 (not at edge). \
         Edge positions: 0 and 2. Included had 3 items.",
    );
}

#[test]
fn without_a_match_there_is_nothing_at_an_edge() {
    assert_eq!(
        failure(with_scores([0.9, 0.8]).should().try_place_item_at_edge(|_| false)),
        "PlaceItemAtEdge failed: no item in Included matched the predicate.",
    );
}

#[test]
fn an_empty_selection_has_no_edges() {
    assert_eq!(
        failure(empty().should().try_place_item_at_edge(|_| true)),
        "PlaceItemAtEdge failed: no item in Included matched the predicate.",
    );
}
