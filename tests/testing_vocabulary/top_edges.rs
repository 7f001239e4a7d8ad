//! The best items at the edges.

use cupel::placer::UShapedPlacer;
use cupel::{ContextBudget, ContextItem, GreedySlice, Pipeline, ReflexiveScorer, SelectionReport};

use crate::reports::{
    document, empty, failure, included, message, report, tool_output, with_scores,
};

fn passes(report: &SelectionReport, n: usize) -> bool {
    report.should().try_place_top_n_scored_at_edges(n).is_ok()
}

#[test]
fn a_u_shaped_selection_passes_at_every_depth() {
    let pipeline = Pipeline::builder()
        .scorer(ReflexiveScorer)
        .slicer(GreedySlice)
        .placer(UShapedPlacer)
        .build()
        .unwrap();
    let budget = ContextBudget::builder(1_000).build().unwrap();
    for count in 0..8 {
        // Every score twice, so that ties meet every cut.
        let items = (0..count).map(|i| {
            let hint = f64::from(i / 2) / 10.0;
            ContextItem::builder(format!("item {i}"), 5).future_relevance_hint(hint).build()
        });
        let items: Vec<_> = items.collect::<Result<_, _>>().unwrap();
        let report = pipeline.dry_run(&items, &budget).unwrap();
        for n in 0..=items.len() {
            report.should().place_top_n_scored_at_edges(n);
        }
    }
}

#[test]
fn the_best_may_swap_their_places_at_the_edges() {
    assert!(passes(&with_scores([0.8, 0.1, 0.2, 0.9]), 2));
    assert!(passes(&with_scores([0.7, 0.9, 0.1, 0.2, 0.8]), 3));
}

#[test]
fn a_good_item_inside_is_told_with_where_it_is() {
    let report = report(
        [
            included(message(), 0.9),
            included(document(), 0.8),
            included(tool_output(), 0.7),
            included(message(), 0.1),
            included(message(), 0.2),
            included(message(), 0.3),
        ],
        [],
    );
    assert_eq!(
        failure(report.should().try_place_top_n_scored_at_edges(4)),
        "PlaceTopNScoredAtEdges(4) failed: 1 of the top-4 scored items were not at expected edge \
         positions. Top-4 items (by score): [(kind=Message, score=0.9, idx=0), \
         (kind=Document, score=0.8, idx=1), (kind=ToolOutput, score=0.7, idx=2), \
         (kind=Message, score=0.3, idx=5)]. Expected edge positions: [0, 5, 1, 4].",
    );
}

#[test]
fn of_items_that_tie_for_the_last_place_any_will_do() {
    assert!(passes(&with_scores([0.9, 0.5, 0.5, 0.5]), 2));
    assert!(passes(&with_scores([0.5, 0.5, 0.5, 0.9]), 2));
    assert!(passes(&with_scores([0.5; 5]), 3));
}

#[test]
fn a_tie_does_not_excuse_a_better_item_inside() {
    let report = with_scores([0.5, 0.9, 0.5]);
    assert_eq!(
        failure(report.should().try_place_top_n_scored_at_edges(2)),
        "PlaceTopNScoredAtEdges(2) failed: 1 of the top-2 scored items were not at expected edge \
         positions. Top-2 items (by score): [(kind=Message, score=0.9, idx=1), \
         (kind=Message, score=0.5, idx=0)]. Expected edge positions: [0, 2].",
    );
}

#[test]
fn a_lower_score_at_the_edge_is_no_tie() {
    assert!(!passes(&with_scores([0.9, 0.5, 0.5, 0.4]), 2));
}

#[test]
fn the_best_zero_are_always_at_the_edges() {
    assert!(passes(&empty(), 0));
    assert!(passes(&with_scores([0.1, 0.9, 0.2]), 0));
}

#[test]
fn an_empty_selection_has_no_edges_to_fill() {
    assert_eq!(
        failure(empty().should().try_place_top_n_scored_at_edges(2)),
        "PlaceTopNScoredAtEdges(2) failed: 2 of the top-2 scored items were not at expected edge \
         positions. Top-2 items (by score): []. Expected edge positions: []. \
         Included had only 0 items, but n was 2.",
    );
}

#[test]
fn asking_for_more_than_there_are_fails_however_they_are_placed() {
    assert_eq!(
        failure(with_scores([0.9, 0.8]).should().try_place_top_n_scored_at_edges(3)),
        "PlaceTopNScoredAtEdges(3) failed: 1 of the top-3 scored items were not at expected edge \
         positions. Top-3 items (by score): [(kind=Message, score=0.9, idx=0), \
         (kind=Message, score=0.8, idx=1)]. Expected edge positions: [0, 1]. \
         Included had only 2 items, but n was 3.",
    );
    assert!(!passes(&with_scores([0.9]), usize::MAX));
}

#[test]
fn asking_for_all_checks_the_order_from_the_edges_inward() {
    assert!(passes(&with_scores([0.9, 0.7, 0.6, 0.8]), 4));
    assert!(passes(&with_scores([0.9, 0.7, 0.7, 0.9]), 4));
    assert_eq!(
        failure(with_scores([0.9, 0.8, 0.7]).should().try_place_top_n_scored_at_edges(3)),
        "PlaceTopNScoredAtEdges(3) failed: 2 of the top-3 scored items were not at expected edge \
         positions. Top-3 items (by score): [(kind=Message, score=0.9, idx=0), \
         (kind=Message, score=0.8, idx=1), (kind=Message, score=0.7, idx=2)]. \
         Expected edge positions: [0, 2, 1]. \
         Scores must not rise from the edges inward, but were [0.9, 0.7, 0.8].",
    );
}

#[test]
fn scores_that_are_not_numbers_are_the_lowest() {
    assert!(passes(&with_scores([0.5, f64::NAN, 0.1]), 2));
    assert!(!passes(&with_scores([0.5, 0.1, f64::NAN]), 2));
}
