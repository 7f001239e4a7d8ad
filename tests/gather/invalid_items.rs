//! Items with token counts that make no sense do no harm.

use cupel::diagnostics::ExclusionReason;
use cupel::gather::{Source, SourceOutcome};
use cupel::slicer::KnapsackSlice;
use cupel::{ContextItem, ContextKind, Pipeline, Slicer};
use futures::stream::{self, StreamExt};

use crate::common::{
    Request, budget, context_error, item, layer_with, pinned, relevant, report, request,
};

fn both_ways(source: fn() -> Source<Request>) -> [Source<Request>; 2] {
    [source().required(), source().optional()]
}

#[tokio::test]
async fn negative_tokens_are_left_out_and_explained() {
    let source = || Source::items("rag", [item("wrong", -5), item("right", 5), pinned("odd", -1)]);
    for source in both_ways(source) {
        let (sent, selection) = report(layer_with([source]), request()).await.unwrap();
        assert_eq!(sent, ["right"]);
        let reasons: Vec<_> = selection.report.excluded.iter().map(|e| e.reason.clone()).collect();
        let negative = |tokens| ExclusionReason::NegativeTokens { tokens };
        assert_eq!(reasons, [negative(-5), negative(-1)]);
        let rag = selection.gather.source("rag").unwrap();
        assert_eq!((rag.items, &rag.outcome), (3, &SourceOutcome::Completed));
        assert_eq!(rag.pins_lifted, 0);
    }
}

#[tokio::test]
async fn the_smallest_token_count_there_is_does_not_overflow() {
    let source = || Source::items("rag", [item("a", i64::MIN), item("b", i64::MIN), item("c", 1)]);
    for source in both_ways(source) {
        let (sent, selection) = report(layer_with([source]), request()).await.unwrap();
        assert_eq!(sent, ["c"]);
        assert_eq!(selection.report.excluded.len(), 2);
    }
}

#[tokio::test]
async fn the_largest_token_count_there_is_does_not_overflow() {
    let source =
        || Source::items("rag", [item("a", i64::MAX), item("b", i64::MAX), relevant("c", 1, 0.5)]);
    let slicers: [Box<dyn Slicer>; 2] =
        [Box::new(cupel::GreedySlice), Box::new(KnapsackSlice::new(1).unwrap())];
    for slicer in slicers {
        let pipeline = Pipeline::builder()
            .scorer(cupel::ReflexiveScorer)
            .slicer(slicer)
            .placer(cupel::placer::UShapedPlacer)
            .build()
            .unwrap();
        for source in both_ways(source) {
            let layer = layer_with([source]).pipeline(pipeline.clone());
            let (sent, selection) = report(layer, request()).await.unwrap();
            assert_eq!(sent, ["c"]);
            assert_eq!(selection.gather.source("rag").unwrap().tokens, i64::MAX);
        }
    }
}

#[tokio::test]
async fn pinned_items_of_the_largest_token_count_fail_only_where_they_are_required() {
    let source = || Source::items("rag", [pinned("a", i64::MAX), pinned("b", i64::MAX)]);
    let [required, optional] = both_ways(source);
    let error = context_error(report(layer_with([required]), request()).await);
    let said = format!("Pinned items require {} tokens, but only 1000 are available", i64::MAX);
    assert!(error.to_string().starts_with(&said), "{error}");
    let asked = request().item(pinned("question", 10));
    let (sent, selection) = report(layer_with([optional]), asked).await.unwrap();
    assert_eq!(sent, ["question"]);
    assert_eq!(selection.gather.source("rag").unwrap().pins_lifted, 2);
}

#[tokio::test]
async fn a_pinned_item_of_no_tokens_fits_a_full_budget() {
    let source = Source::items("rag", [pinned("free", 0)]).optional();
    let layer = layer_with([source]).budget(budget(10));
    let asked = request().item(pinned("question", 10));
    let (sent, selection) = report(layer, asked).await.unwrap();
    assert_eq!(sent, ["question", "free"]);
    assert_eq!(selection.gather.source("rag").unwrap().pins_lifted, 0);
}

#[tokio::test]
async fn an_item_that_cannot_be_built_is_an_error_of_its_source() {
    let source = || {
        Source::stream("rag", |_: &Request| {
            stream::iter(["text", "", "more"]).map(|text| ContextItem::new(text, 1))
        })
    };
    let [required, optional] = both_ways(source);
    let error = context_error(report(layer_with([required]), request()).await).to_string();
    assert!(error.starts_with("required source \"rag\" failed: invalid content"), "{error}");
    let (sent, _) = report(layer_with([optional]), request()).await.unwrap();
    assert_eq!(sent, ["text"]);
}

#[tokio::test]
async fn odd_scores_and_kinds_from_a_source_do_no_harm() {
    let odd = |hint: f64| {
        ContextItem::builder(format!("hint {hint}"), 400)
            .future_relevance_hint(hint)
            .kind(ContextKind::new("Never Heard Of").unwrap())
            .build()
            .unwrap()
    };
    let hints = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MAX];
    let source = Source::items("rag", hints.map(odd).to_vec());
    let (sent, selection) = report(layer_with([source]), request()).await.unwrap();
    assert_eq!(sent.len(), 2);
    assert_eq!(selection.report.excluded.len(), 3);
}
