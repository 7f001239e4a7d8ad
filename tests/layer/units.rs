//! Units of items are kept or dropped together and come out side by side, in their order.

use chrono::DateTime;
use cupel::diagnostics::ExclusionReason;
use cupel::layer::ContextRequest;
use cupel::{ContextItem, ContextKind, ContextSource};

use crate::common::{budget, item, layer, pinned, relevant, report, request};

fn tool_call(hint: f64) -> [ContextItem; 3] {
    [relevant("call", 10, hint), item("answer", 20), item("comment", 5)]
}

#[tokio::test]
async fn a_unit_that_fits_is_kept_whole_and_in_order() {
    let asked = request()
        .item(relevant("before", 5, 0.95))
        .unit(tool_call(0.9))
        .unwrap()
        .item(relevant("after", 5, 0.1));
    let (sent, selection) = report(layer().budget(budget(45)), asked).await.unwrap();
    // Best score first: "before", then the unit, then "after".
    assert_eq!(sent, ["before", "call", "answer", "comment", "after"]);
    assert_eq!(selection.report.included.len(), 3);
}

#[tokio::test]
async fn a_unit_that_does_not_fit_is_dropped_whole() {
    let asked = request().unit(tool_call(0.9)).unwrap().item(relevant("question", 5, 0.1));
    let (sent, selection) = report(layer().budget(budget(34)), asked).await.unwrap();
    assert_eq!(sent, ["question"]);
    assert_eq!(selection.report.excluded[0].item.tokens(), 35);
}

#[tokio::test]
async fn a_pinned_member_pins_its_unit() {
    let unit = [item("call", 10), pinned("answer", 20)];
    let asked = request().item(relevant("rival", 30, 1.0)).unit(unit).unwrap();
    let (sent, _) = report(layer().budget(budget(30)), asked).await.unwrap();
    assert_eq!(sent, ["call", "answer"]);
}

#[tokio::test]
async fn to_the_pipeline_a_unit_is_one_item_made_of_its_members() {
    let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap();
    let first = ContextItem::builder("call", 10)
        .kind(ContextKind::tool_output())
        .source(ContextSource::tool())
        .tag("maths")
        .priority(1)
        .timestamp(at(50))
        .metadata_entry("id", "7")
        .build()
        .unwrap();
    let second = ContextItem::builder("answer", 20)
        .tag("result")
        .priority(9)
        .timestamp(at(40))
        .future_relevance_hint(0.7)
        .build()
        .unwrap();
    let asked = request().unit([first, second]).unwrap();
    let (_, selection) = report(layer(), asked).await.unwrap();
    let folded = &selection.report.included[0].item;
    assert_eq!(folded.tokens(), 30);
    assert_eq!(folded.kind(), &ContextKind::tool_output());
    assert_eq!(folded.source(), &ContextSource::tool());
    assert_eq!(folded.tags(), ["maths", "result"]);
    assert_eq!((folded.priority(), folded.timestamp()), (Some(9), Some(at(50))));
    assert_eq!(folded.future_relevance_hint(), Some(0.7));
    assert_eq!(folded.metadata()["id"], "7");
}

#[tokio::test]
async fn equal_members_of_different_units_are_not_duplicates() {
    let asked = request()
        .unit([item("call a", 1), item("ok", 1)])
        .unwrap()
        .unit([item("call b", 1), item("ok", 1)])
        .unwrap();
    let (sent, _) = report(layer(), asked).await.unwrap();
    assert_eq!(sent, ["call a", "ok", "call b", "ok"]);
}

#[tokio::test]
async fn a_unit_counts_against_the_budget_with_all_of_its_tokens() {
    let huge = request().unit([item("a", i64::MAX), item("b", i64::MAX)]).unwrap();
    let (sent, selection) = report(layer(), huge).await.unwrap();
    assert!(sent.is_empty());
    assert_eq!(selection.report.excluded[0].item.tokens(), i64::MAX);
}

#[tokio::test]
async fn a_member_with_negative_tokens_does_not_make_its_unit_cheaper() {
    let asked = request().unit([item("long", 2_000), item("wrong", -1_500)]).unwrap();
    let (sent, selection) = report(layer(), asked).await.unwrap();
    assert!(sent.is_empty());
    assert_eq!(
        selection.report.excluded[0].reason,
        ExclusionReason::NegativeTokens { tokens: -1_500 },
    );
}

#[test]
fn a_unit_needs_a_member() {
    let error = ContextRequest::new(()).unit([]).unwrap_err();
    assert_eq!(error.to_string(), "invalid unit: got no items, expected at least one");
}

#[test]
fn a_requests_items_are_those_it_was_given() {
    let asked = request()
        .with_items([item("one", 1), item("two", 1)])
        .unit([item("three", 1), item("four", 1)])
        .unwrap();
    let contents: Vec<_> = asked.items().map(ContextItem::content).collect();
    assert_eq!(contents, ["one", "two", "three", "four"]);
}
