//! Without dates, what a source gave is older than the request, and the question comes last.

use cupel::gather::{ConversationStore, Source};
use cupel::layer::{ContextRequestAdapter, CupelLayer, CupelLayerBuilder};
use cupel::placer::AgePlacer;
use cupel::{ContextItem, ContextKind, GreedySlice, Pipeline, Policy, ReflexiveScorer};

use crate::common::{Request, budget, item, report, request};

/// A stored conversation and a document, both from sources.
fn sources(
    builder: CupelLayerBuilder<Request, ContextRequestAdapter>,
) -> CupelLayerBuilder<Request, ContextRequestAdapter> {
    let store = ConversationStore::new();
    store.extend((), (0..20).map(|number| item(&format!("history {number}"), 10)));
    let manual = ContextItem::builder("manual", 10).kind(ContextKind::document()).build().unwrap();
    builder
        .source(store.source("history", |_: &Request| ()))
        .source(Source::items("manual", vec![manual]))
}

#[tokio::test]
async fn chat_keeps_the_end_of_a_stored_conversation_and_asks_last() {
    let layer = CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .policy(Policy::chat())
        .budget(budget(40));
    let asked = request().item(item("question", 10));
    let (sent, _) = report(sources(layer), asked).await.unwrap();
    assert_eq!(sent.last().map(String::as_str), Some("question"));
    assert_eq!(sent[..3], ["history 17", "history 18", "history 19"]);
}

#[tokio::test]
async fn selecting_while_items_arrive_places_them_as_a_batch_does() {
    let pipeline = || {
        let pipeline = Pipeline::builder().scorer(ReflexiveScorer).slicer(GreedySlice);
        pipeline.placer(AgePlacer).build().unwrap()
    };
    let mut outcomes = Vec::new();
    for streaming in [false, true] {
        let mut layer = CupelLayer::builder()
            .adapter(ContextRequestAdapter)
            .pipeline(pipeline())
            .budget(budget(1_000));
        if streaming {
            // Somebody watches, so that items are taken one by one although all are there.
            layer = layer.select_while_gathering(true).on_progress(|_| {});
        }
        let asked = request().item(item("first", 10)).item(item("question", 10));
        let (sent, _) = report(sources(layer), asked).await.unwrap();
        assert_eq!(sent.len(), 23);
        assert_eq!((sent[0].as_str(), sent[1].as_str()), ("manual", "history 0"));
        assert_eq!(sent[21..], ["first", "question"]);
        outcomes.push(sent);
    }
    assert_eq!(outcomes[0], outcomes[1]);
}

#[tokio::test]
async fn what_an_earlier_call_gathered_is_as_new_as_the_request_that_holds_it() {
    let asked = |earlier: ContextItem| request().item(item("question", 10)).item(earlier);
    let layer = || {
        CupelLayer::builder()
            .adapter(ContextRequestAdapter)
            .policy(Policy::chat())
            .budget(budget(1_000))
    };
    let gathering = layer().source(Source::items("notes", vec![item("note", 10)]));
    let (_, selection) = report(gathering, request()).await.unwrap();
    let gathered = selection.report.included[0].item.clone();
    let (sent, _) = report(layer(), asked(gathered)).await.unwrap();
    assert_eq!(sent, ["question", "note"]);
}
