//! A source that panics, wherever it does, harms nobody but itself.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use cupel::ContextItem;
use cupel::gather::{BoxError, CandidateSource, CandidateStream, Source, SourceOutcome};
use cupel::layer::ContextError;
use futures::stream::{self, Stream, StreamExt};
use tower::{Layer, Service, ServiceExt};

use crate::common::{Echo, Request, context_error, item, layer_with, ms, report, request};

/// Panics when it is asked for a stream.
struct PanicsWhenOpened;

impl CandidateSource<Request> for PanicsWhenOpened {
    fn candidates(&self, _: &Request) -> CandidateStream {
        panic!("no connection");
    }
}

fn when_opened() -> Source<Request> {
    Source::new("rag", PanicsWhenOpened)
}

/// Yields an item, then panics.
fn when_polled() -> Source<Request> {
    Source::stream("rag", |_: &Request| {
        stream::iter(0..2).map(|number| {
            assert!(number == 0, "bad page {number}");
            Ok::<_, Infallible>(item("first page", 1))
        })
    })
}

/// Panics inside an async block, after an await.
fn when_awaited() -> Source<Request> {
    Source::list("rag", |_: &Request| async {
        tokio::task::yield_now().await;
        if true {
            std::panic::panic_any(vec![1, 2, 3]);
        }
        Ok::<Vec<ContextItem>, Infallible>(Vec::new())
    })
}

/// Panics when it is dropped, whatever it yielded before.
struct PanicsWhenDropped<S>(Pin<Box<S>>);

impl<S: Stream> Stream for PanicsWhenDropped<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl<S> Drop for PanicsWhenDropped<S> {
    fn drop(&mut self) {
        panic!("cannot close the cursor");
    }
}

fn when_dropped<S>(open: fn() -> S) -> Source<Request>
where
    S: Stream<Item = Result<ContextItem, &'static str>> + Send + 'static,
{
    Source::stream("rag", move |_: &Request| PanicsWhenDropped(Box::pin(open())))
}

fn one_item() -> impl Stream<Item = Result<ContextItem, &'static str>> {
    stream::iter([Ok(item("row", 1))])
}

fn one_item_then_nothing() -> impl Stream<Item = Result<ContextItem, &'static str>> {
    one_item().chain(stream::pending())
}

#[tokio::test]
async fn a_required_source_that_panics_fails_the_call_with_its_name_and_message() {
    let cases = [
        (when_opened(), "no connection"),
        (when_polled(), "bad page 1"),
        (when_awaited(), "no message"),
    ];
    for (source, message) in cases {
        let error = context_error(report(layer_with([source.required()]), request()).await);
        assert_eq!(error.to_string(), format!("required source \"rag\" panicked: {message}"));
        let ContextError::Source { outcome, cause, .. } = error else { panic!("another error") };
        assert_eq!(outcome, SourceOutcome::Panicked { message: message.to_owned() });
        assert!(cause.is_none());
    }
}

#[tokio::test]
async fn an_optional_source_that_panics_keeps_what_had_arrived() {
    let cases = [(when_opened(), 0), (when_polled(), 1), (when_awaited(), 0)];
    for (source, arrived) in cases {
        let asked = request().item(item("own", 1));
        let (sent, selection) = report(layer_with([source.optional()]), asked).await.unwrap();
        assert_eq!(sent.len(), 1 + arrived);
        let source = selection.gather.source("rag").unwrap();
        assert_eq!(source.items, arrived);
        assert_eq!(source.outcome.name(), "panicked");
    }
}

#[tokio::test]
async fn a_source_to_be_discarded_leaves_nothing_when_it_panics() {
    let source = when_polled().discard_on_error();
    let (sent, selection) = report(layer_with([source]), request()).await.unwrap();
    assert!(sent.is_empty());
    assert_eq!(selection.gather.source("rag").unwrap().outcome.name(), "panicked");
}

#[tokio::test]
async fn a_source_that_panics_when_dropped_at_its_end_has_completed() {
    let (sent, selection) = report(layer_with([when_dropped(one_item)]), request()).await.unwrap();
    assert_eq!(sent, ["row"]);
    assert_eq!(selection.gather.source("rag").unwrap().outcome, SourceOutcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_panics_when_dropped_at_a_deadline_has_timed_out() {
    let own = layer_with([when_dropped(one_item_then_nothing).deadline(ms(10)).optional()]);
    let overall =
        layer_with([when_dropped(one_item_then_nothing).optional()]).gather_deadline(ms(10));
    for layer in [own, overall] {
        let (sent, selection) = report(layer, request()).await.unwrap();
        assert_eq!(sent, ["row"]);
        assert_eq!(selection.gather.source("rag").unwrap().outcome, SourceOutcome::TimedOut);
    }
}

#[tokio::test]
async fn a_source_that_panics_when_dropped_may_be_dropped_at_any_time() {
    let layer = layer_with([when_dropped(one_item_then_nothing)]).build().unwrap();
    let mut service = layer.layer(Echo::default());
    // Before the first poll, and after it.
    drop(service.ready().await.unwrap().call(request()));
    let mut call = Box::pin(service.ready().await.unwrap().call(request()));
    assert!(futures::future::poll_immediate(&mut call).await.is_none());
    drop(call);

    let limited = when_dropped(one_item_then_nothing).limit(1);
    let (sent, _) = report(layer_with([limited]), request()).await.unwrap();
    assert_eq!(sent, ["row"]);

    let broken = Source::list("other", |_: &Request| async { Err::<Vec<_>, _>("gone") });
    let sources = [when_dropped(one_item_then_nothing), broken.required()];
    let error = context_error(report(layer_with(sources), request()).await);
    assert_eq!(error.to_string(), "required source \"other\" failed: gone");
}

/// An error that cannot even say what it is.
#[derive(Debug)]
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("no words")
    }
}

impl std::error::Error for Unspeakable {}

#[tokio::test]
async fn an_error_that_panics_when_shown_is_a_panic_of_its_source() {
    let broken = || {
        Source::list("rag", |_: &Request| async {
            Err::<Vec<ContextItem>, BoxError>(Box::new(Unspeakable))
        })
    };
    let error = context_error(report(layer_with([broken().required()]), request()).await);
    assert_eq!(error.to_string(), "required source \"rag\" panicked: no words");
    let (_, selection) = report(layer_with([broken().optional()]), request()).await.unwrap();
    assert_eq!(selection.gather.source("rag").unwrap().outcome.name(), "panicked");
}

/// An error that panics when it is dropped.
#[derive(Debug)]
struct DropPanics;

impl fmt::Display for DropPanics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no connection")
    }
}

impl Drop for DropPanics {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

impl std::error::Error for DropPanics {}

#[tokio::test(start_paused = true)]
async fn an_error_that_panics_when_dropped_costs_its_source_and_nothing_else() {
    let broken = |name: &'static str| {
        Source::stream(name, |_: &Request| {
            stream::iter([Ok::<_, BoxError>(item("row", 1)), Err(Box::new(DropPanics))])
        })
    };
    for streaming in [false, true] {
        let layer = layer_with([broken("rag"), broken("other").discard_on_error()]);
        let layer = layer.select_while_gathering(streaming);
        let (sent, selection) = report(layer, request()).await.unwrap();
        assert_eq!(sent, ["row"]);
        for name in ["rag", "other"] {
            let outcome = &selection.gather.source(name).unwrap().outcome;
            assert_eq!(outcome.to_string(), "failed: no connection");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_required_errors_that_panic_when_dropped_the_first_is_told() {
    // They wake nobody: both are looked at once more when their time is up.
    let start = tokio::time::Instant::now();
    let late = |name: &'static str| {
        let open = move |_: &Request| {
            stream::poll_fn(move |_| match start.elapsed() < ms(10) {
                true => Poll::Pending,
                false => Poll::Ready(Some(Err::<ContextItem, BoxError>(Box::new(DropPanics)))),
            })
        };
        Source::stream(name, open).deadline(ms(10)).required()
    };
    let error = context_error(report(layer_with([late("one"), late("two")]), request()).await);
    assert_eq!(error.to_string(), "required source \"one\" failed: no connection");
    std::mem::forget(error); // it holds the first error
}

#[tokio::test]
async fn a_call_after_a_panic_is_like_any_other() {
    let layer = layer_with([Source::stream("rag", |request: &Request| {
        assert!(request.items().count() == 0, "cannot search that");
        stream::iter([Ok::<_, Infallible>(item("hit", 1))])
    })
    .optional()]);
    let mut service = layer.build().unwrap().layer(Echo::default());
    for _ in 0..3 {
        let panicking = request().item(item("question", 1));
        let sent = service.ready().await.unwrap().call(panicking).await.unwrap();
        assert_eq!(sent, ["question"]);
        let sent = service.ready().await.unwrap().call(request()).await.unwrap();
        assert_eq!(sent, ["hit"]);
    }
}
