//! Item limits: what is asked for, and what is not.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::gather::{Source, SourceOutcome};
use futures::stream::{self, StreamExt};

use crate::common::{Request, budget, item, layer_with, report, request};

/// A source of `count` items that counts how many were asked for.
fn counting(count: usize, asked_for: &Arc<AtomicUsize>) -> Source<Request> {
    let asked_for = Arc::clone(asked_for);
    Source::stream("rag", move |_: &Request| {
        let asked_for = Arc::clone(&asked_for);
        stream::iter(0..count).map(move |number| {
            asked_for.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Infallible>(item(&format!("hit {number}"), 1))
        })
    })
}

#[tokio::test]
async fn no_more_than_the_limit_is_asked_for() {
    let asked_for = Arc::default();
    let rag = counting(100, &asked_for).limit(3).required();
    let (sent, selection) = report(layer_with([rag]), request()).await.unwrap();
    assert_eq!(sent, ["hit 0", "hit 1", "hit 2"]);
    assert_eq!(asked_for.load(Ordering::SeqCst), 3);
    let rag = selection.gather.source("rag").unwrap();
    assert_eq!((rag.items, &rag.outcome), (3, &SourceOutcome::LimitReached));
    // Having more than enough is no failure, so a required source may.
    assert!(!rag.outcome.is_failure());
}

#[tokio::test]
async fn fewer_items_than_the_limit_complete() {
    let rag = counting(2, &Arc::default()).limit(3);
    let (_, selection) = report(layer_with([rag]), request()).await.unwrap();
    assert_eq!(selection.gather.source("rag").unwrap().outcome, SourceOutcome::Completed);
}

#[tokio::test]
async fn limits_around_the_size_of_a_batch_are_exact() {
    for limit in [1, 63, 64, 65, 127, 128, 129, 1_000] {
        let asked_for = Arc::default();
        let rag = counting(5_000, &asked_for).limit(limit);
        let layer = layer_with([rag]).budget(budget(100_000));
        let (sent, selection) = report(layer, request()).await.unwrap();
        assert_eq!((sent.len(), asked_for.load(Ordering::SeqCst)), (limit, limit));
        let rag = selection.gather.source("rag").unwrap();
        assert_eq!((rag.items, rag.tokens), (limit, limit as i64));
    }
}

#[tokio::test]
async fn sources_around_the_size_of_a_batch_are_complete_and_in_order() {
    for count in [0, 1, 63, 64, 65, 128, 129, 5_000] {
        let rag = counting(count, &Arc::default());
        let layer = layer_with([rag]).budget(budget(100_000));
        let (sent, selection) = report(layer, request()).await.unwrap();
        let expected: Vec<_> = (0..count).map(|number| format!("hit {number}")).collect();
        assert_eq!(sent, expected);
        assert_eq!(selection.gather.source("rag").unwrap().outcome, SourceOutcome::Completed);
    }
}

#[tokio::test]
async fn without_a_setting_the_limit_is_ten_thousand_items() {
    let asked_for = Arc::default();
    let rag = counting(20_000, &asked_for);
    let layer = layer_with([rag]).budget(budget(100_000));
    let (sent, _) = report(layer, request()).await.unwrap();
    assert_eq!((sent.len(), asked_for.load(Ordering::SeqCst)), (10_000, 10_000));
}

#[tokio::test]
async fn each_source_has_its_own_limit() {
    let numbered = |name: &str| Source::items(name, crate::common::numbered(name, 10));
    let sources = [numbered("a").limit(2), numbered("b"), numbered("c").limit(1)];
    let (sent, _) = report(layer_with(sources), request()).await.unwrap();
    let of = |name: &str| sent.iter().filter(|content| content.starts_with(name)).count();
    assert_eq!((of("a"), of("b"), of("c")), (2, 10, 1));
}
