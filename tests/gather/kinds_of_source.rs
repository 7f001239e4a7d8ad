//! The ways to make a source: a stream, an async list, a fixed list, a type of one's own.

use std::convert::Infallible;
use std::future::ready;

use cupel::gather::{CandidateSource, CandidateStream, Source};
use cupel::layer::ContextRequest;
use cupel::{ContextItem, CupelError};
use futures::stream::{self, StreamExt};

use crate::common::{Request, item, layer_with, report, request};

async fn sent(source: Source<Request>) -> Vec<String> {
    let asked = ContextRequest::new("llama");
    report(layer_with([source]), asked).await.unwrap().0
}

#[tokio::test]
async fn a_function_that_returns_a_stream() {
    let source = Source::stream("rag", |request: &Request| {
        let model = request.payload;
        stream::iter(0..2).map(move |number| ContextItem::new(format!("{model} {number}"), 1))
    });
    assert_eq!(sent(source).await, ["llama 0", "llama 1"]);
}

#[tokio::test]
async fn an_async_function_that_returns_a_list() {
    let source = Source::list("memories", |request: &Request| {
        let model = request.payload.to_owned();
        async move {
            tokio::task::yield_now().await;
            Ok::<_, CupelError>(vec![ContextItem::new(model, 1)?])
        }
    });
    assert_eq!(sent(source).await, ["llama"]);
}

#[tokio::test]
async fn a_fixed_list_is_the_same_for_every_request() {
    let rules = Source::items("rules", vec![item("be kind", 2), item("be brief", 2)]);
    for _ in 0..2 {
        assert_eq!(sent(rules.clone()).await, ["be kind", "be brief"]);
    }
}

#[tokio::test]
async fn a_type_of_ones_own() {
    struct Repeated(usize);
    impl CandidateSource<Request> for Repeated {
        fn candidates(&self, request: &Request) -> CandidateStream {
            let model = request.payload;
            let items = (0..self.0).map(move |n| Ok(ContextItem::new(format!("{model}{n}"), 1)?));
            Box::pin(stream::iter(items))
        }
    }
    assert_eq!(sent(Source::new("own", Repeated(3))).await, ["llama0", "llama1", "llama2"]);
}

#[tokio::test]
async fn a_request_without_sources_or_items_is_sent_empty() {
    let (sent, selection) = report(layer_with([]), request()).await.unwrap();
    assert!(sent.is_empty());
    assert!(selection.gather.sources.is_empty());
    assert_eq!(selection.gather.source("rag"), None);
}

#[test]
fn a_source_says_what_it_is() {
    let source: Source<Request> =
        Source::list("rag", |_: &Request| ready(Ok::<_, Infallible>(Vec::new())))
            .limit(5)
            .optional();
    assert_eq!(source.name(), "rag");
    let text = format!("{source:?}");
    assert!(text.contains("\"rag\"") && text.contains("limit: 5"), "{text}");
    assert!(text.contains("KeepArrived"), "{text}");
}
