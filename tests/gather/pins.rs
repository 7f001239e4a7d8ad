//! Pinned items of an optional source never fail a call; the caller's and the required ones may.

use cupel::gather::Source;
use cupel::layer::ContextError;
use cupel::{
    ChronologicalPlacer, ContextBudget, CupelError, GreedySlice, OverflowStrategy, Pipeline,
    ReflexiveScorer,
};

use crate::common::{
    Request, budget, context_error, item, layer_with, pinned, relevant, report, request,
};

fn overflowing(strategy: OverflowStrategy) -> Pipeline {
    Pipeline::builder()
        .scorer(ReflexiveScorer)
        .slicer(GreedySlice)
        .placer(ChronologicalPlacer)
        .overflow_strategy(strategy)
        .build()
        .unwrap()
}

fn notes(items: impl Into<Vec<cupel::ContextItem>>) -> Source<Request> {
    Source::items("notes", items.into())
}

#[tokio::test]
async fn pins_of_an_optional_source_that_fit_are_kept() {
    let source = notes([pinned("rule", 30)]).optional();
    let asked = request().item(pinned("question", 60)).item(relevant("chat", 11, 1.0));
    let layer = layer_with([source]).budget(budget(100));
    let (sent, selection) = report(layer, asked).await.unwrap();
    assert_eq!(sent, ["question", "rule"]);
    assert_eq!(selection.gather.source("notes").unwrap().pins_lifted, 0);
}

#[tokio::test]
async fn pins_of_an_optional_source_that_do_not_fit_are_lifted_and_the_items_compete() {
    let source = notes([pinned("rule", 41), pinned("hint", 10), pinned("tip", 31)]).optional();
    let asked = request().item(pinned("question", 60));
    let layer = layer_with([source]).budget(budget(100));
    let (sent, selection) = report(layer, asked).await.unwrap();
    // 40 tokens are left: not for the rule, so for the hint, and then not for the tip.
    assert_eq!(sent, ["question", "hint"]);
    let source = selection.gather.source("notes").unwrap();
    assert_eq!((source.items, source.pins_lifted), (3, 2));
    let dropped: Vec<_> = selection.report.excluded.iter().map(|e| e.item.content()).collect();
    assert_eq!(dropped, ["rule", "tip"]);
}

#[tokio::test]
async fn an_item_that_lost_its_pin_can_still_be_chosen() {
    // Both pins fit the window, but not together.
    let source = notes([pinned("first", 60), pinned("second", 60), item("small", 5)]).optional();
    let layer = layer_with([source]).budget(budget(120));
    let (sent, selection) = report(layer, request().item(pinned("question", 1))).await.unwrap();
    assert_eq!(sent, ["question", "first", "small"]);
    assert_eq!(selection.gather.source("notes").unwrap().pins_lifted, 1);
}

#[tokio::test]
async fn pins_of_a_source_without_a_policy_are_lifted_and_the_explanation_says_so() {
    let source = notes([pinned("rule", 60), pinned("hint", 50)]);
    let (sent, selection) =
        report(layer_with([source]).budget(budget(100)), request()).await.unwrap();
    assert_eq!(sent, ["rule"]);
    assert_eq!(selection.gather.source("notes").unwrap().pins_lifted, 1);
    assert_eq!(selection.explain().sources[0].detail.as_deref(), Some("1 pins lifted"));
}

#[tokio::test]
async fn pins_of_required_sources_go_before_those_of_optional_ones() {
    let optional = Source::items("optional", [pinned("nice to have", 50)]).optional();
    let required = Source::items("required", [pinned("must have", 60)]).required();
    let layer = layer_with([optional, required]).budget(budget(100));
    let (sent, selection) = report(layer, request()).await.unwrap();
    assert_eq!(sent, ["must have"]);
    assert_eq!(selection.gather.source("optional").unwrap().pins_lifted, 1);
}

#[tokio::test]
async fn pins_of_a_required_source_that_do_not_fit_fail_the_call() {
    let layer = layer_with([notes([pinned("rule", 101)]).required()]).budget(budget(100));
    let error = context_error(report(layer, request()).await);
    assert!(matches!(
        error,
        ContextError::Pinned {
            error: CupelError::PinnedExceedsBudget { pinned_tokens: 101, .. },
            ..
        }
    ));
}

/// A window of 100 tokens of which the selection should use 50.
fn aiming_low() -> ContextBudget {
    ContextBudget::builder(100).target_tokens(50).build().unwrap()
}

#[tokio::test]
async fn pins_of_an_optional_source_beyond_the_target_do_not_fail_a_strict_pipeline() {
    let source = notes([pinned("rule", 60), item("small", 5)]).optional();
    let layer =
        layer_with([source]).pipeline(overflowing(OverflowStrategy::Throw)).budget(aiming_low());
    let (sent, selection) = report(layer, request().item(item("question", 10))).await.unwrap();
    assert_eq!(sent, ["question", "small"]);
    assert_eq!(selection.gather.source("notes").unwrap().pins_lifted, 1);
}

#[tokio::test]
async fn pins_of_an_optional_source_beyond_the_target_are_kept_where_the_pipeline_allows_it() {
    for strategy in [OverflowStrategy::Proceed, OverflowStrategy::Truncate] {
        let source = notes([pinned("rule", 60)]).optional();
        let layer = layer_with([source]).pipeline(overflowing(strategy)).budget(aiming_low());
        let (sent, selection) = report(layer, request()).await.unwrap();
        assert_eq!(sent, ["rule"]);
        assert_eq!(selection.gather.source("notes").unwrap().pins_lifted, 0);
    }
}

#[tokio::test]
async fn fixed_tokens_count_when_pins_are_fitted() {
    let source = || notes([pinned("rule", 60)]).optional();
    let layer = || layer_with([source()]).budget(budget(100));
    let (sent, _) = report(layer(), request().fixed_tokens(40)).await.unwrap();
    assert_eq!(sent, ["rule"]);
    let (sent, selection) = report(layer(), request().fixed_tokens(41)).await.unwrap();
    assert!(sent.is_empty());
    assert_eq!(selection.gather.source("notes").unwrap().pins_lifted, 1);
}

#[tokio::test]
async fn pins_of_an_optional_source_never_fail_a_call_however_large_they_are() {
    for strategy in [OverflowStrategy::Throw, OverflowStrategy::Proceed] {
        // Both fit the largest budget there is, but not together.
        let source = notes([pinned("first", i64::MAX), pinned("second", 5)]).optional();
        let layer = layer_with([source]).pipeline(overflowing(strategy)).budget(budget(i64::MAX));
        let (sent, selection) = report(layer, request()).await.unwrap();
        assert_eq!(sent, ["first"]);
        assert_eq!(selection.gather.source("notes").unwrap().pins_lifted, 1);
    }
}

#[tokio::test]
async fn the_tokens_of_a_source_are_not_made_less_by_an_item_that_is_not_valid() {
    let source = notes([item("note", 7), item("broken", -5)]);
    let (_, selection) = report(layer_with([source]), request()).await.unwrap();
    let notes = selection.gather.source("notes").unwrap();
    assert_eq!((notes.items, notes.tokens), (2, 7));
    assert_eq!(selection.report.total_tokens_considered, 2);
}
