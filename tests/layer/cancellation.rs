//! Dropping a call drops all of its sources at once and leaves nothing behind.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use cupel::ContextItem;
use cupel::gather::{GatherReport, Source};
use cupel::layer::{ContextError, SelectionHook};
use futures::future::poll_immediate;
use futures::stream::{self, StreamExt};
use tokio::time::{advance, sleep};
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::common::{Echo, Request, in_time, item, layer_with, ms, numbered, request};

/// Counted by its reference count, less this one.
#[derive(Clone, Default)]
struct Alive(Arc<()>);

impl Alive {
    fn count(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }

    /// A source whose stream is alive from when it is opened to when it is dropped.
    fn source<S>(&self, name: &str, open: fn() -> S) -> Source<Request>
    where
        S: stream::Stream<Item = ContextItem> + Send + 'static,
    {
        let this = Arc::downgrade(&self.0);
        Source::stream(name, move |_: &Request| {
            let alive = this.upgrade();
            Box::pin(open()).map(move |item| {
                let _ = &alive;
                Ok::<_, Infallible>(item)
            })
        })
    }

    /// Sources that are never over: one hangs, one waits, one has yielded.
    fn endless(&self) -> [Source<Request>; 3] {
        [
            self.source("hanging", stream::pending),
            self.source("waiting", || {
                stream::once(async {
                    sleep(ms(500)).await;
                    item("late", 1)
                })
            })
            .deadline(ms(400)),
            self.source("begun", || stream::iter(numbered("begun", 100)).chain(stream::pending())),
        ]
    }

    /// A source that asks to be polled again and again.
    fn busy(&self) -> Source<Request> {
        self.source("busy", || {
            stream::poll_fn(|cx| {
                cx.waker().wake_by_ref();
                Poll::Pending
            })
        })
    }
}

/// Polls a call a few times; it must not end.
async fn started<F: Future>(mut call: Pin<Box<F>>) -> Pin<Box<F>> {
    for _ in 0..5 {
        assert!(poll_immediate(call.as_mut()).await.is_none());
    }
    call
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_drops_its_sources_at_once() {
    let alive = Alive::default();
    let layer = layer_with(alive.endless()).source(alive.busy()).build().unwrap();
    let mut service = layer.clone().layer(Echo::default());
    let call = started(Box::pin(service.ready().await.unwrap().call(request()))).await;
    assert_eq!(alive.count(), 4);
    drop(call);
    assert_eq!(alive.count(), 0);

    let mut service = layer.with_report().layer(Echo::default());
    let reported = service.ready().await.unwrap().call(request());
    let reported = started(Box::pin(reported)).await;
    assert_eq!(alive.count(), 4);
    drop(reported);
    assert_eq!(alive.count(), 0);
}

#[tokio::test]
async fn dropping_a_call_that_was_never_polled_drops_its_sources() {
    let alive = Alive::default();
    let mut service =
        layer_with(alive.endless()).source(alive.busy()).build().unwrap().layer(Echo::default());
    let call = service.ready().await.unwrap().call(request());
    assert_eq!(alive.count(), 4);
    drop(call);
    assert_eq!(alive.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn aborting_the_task_of_a_call_drops_its_sources() {
    let alive = Alive::default();
    let service = layer_with(alive.endless()).build().unwrap().layer(Echo::default());
    let task = tokio::spawn(service.oneshot(request()));
    sleep(ms(100)).await;
    assert_eq!(alive.count(), 3);
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(alive.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_lets_go_of_the_items_that_had_arrived() {
    let shared = item("shared", 1);
    let text = shared.shared_content();
    let source = Source::stream("begun", {
        let shared = shared.clone();
        move |_: &Request| {
            stream::iter([Ok::<_, Infallible>(shared.clone())]).chain(stream::pending())
        }
    });
    let mut service = layer_with([source]).build().unwrap().layer(Echo::default());
    let handles = || Arc::strong_count(&text);
    assert_eq!(handles(), 2, "the items are counted by their content, which they share");
    let asked = request().item(shared.to_builder().tag("copy").build().unwrap());
    let call = started(Box::pin(service.ready().await.unwrap().call(asked))).await;
    assert_eq!(handles(), 3);
    drop(call);
    assert_eq!(handles(), 2);
}

/// Sees how many sources are alive when the call fails.
struct AtFailure(Alive, Arc<std::sync::Mutex<Option<usize>>>);

impl SelectionHook for AtFailure {
    fn on_failure(&self, _: &ContextError, _: &GatherReport) {
        *self.1.lock().unwrap() = Some(self.0.count());
    }
}

#[tokio::test(start_paused = true)]
async fn a_required_source_that_fails_ends_the_others_at_once() {
    let alive = Alive::default();
    let failing = Source::list("failing", |_: &Request| async {
        sleep(ms(20)).await;
        Err::<Vec<_>, _>("gone")
    });
    let seen = Arc::default();
    // The hook's own handle is not a source.
    let hook = AtFailure(Alive(Arc::clone(&alive.0)), Arc::clone(&seen));
    let layer = layer_with(alive.endless()).source(failing.required()).hook(hook).build().unwrap();
    let mut service = layer.layer(Echo::default());
    let mut call = pin!(service.ready().await.unwrap().call(request()));
    assert!(call.as_mut().await.is_err());
    assert_eq!(alive.count(), 1);
    assert_eq!(*seen.lock().unwrap(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn sources_that_are_cut_off_are_gone_before_the_model_is_called() {
    let alive = Alive::default();
    let counted = Arc::downgrade(&alive.0);
    let model = service_fn(move |request: Request| {
        let alive = counted.strong_count() - 1;
        async move { Ok::<_, Infallible>((alive, request.items().count())) }
    });
    let sources = alive.endless().map(Source::optional);
    let layer = layer_with(sources).gather_deadline(ms(450)).build().unwrap();
    let outcome = in_time(layer.layer(model).oneshot(request())).await.unwrap();
    assert_eq!(outcome, (0, 100));
}

#[tokio::test(start_paused = true)]
async fn a_source_past_its_own_deadline_is_dropped_while_the_others_go_on() {
    let alive = Alive::default();
    let [hanging, waiting, ..] = alive.endless();
    let layer = layer_with([hanging.deadline(ms(50)).optional(), waiting.deadline(ms(600))]);
    let mut service = layer.build().unwrap().layer(Echo::default());
    let mut call = Box::pin(service.ready().await.unwrap().call(request()));
    assert!(poll_immediate(call.as_mut()).await.is_none());
    assert_eq!(alive.count(), 2);
    advance(ms(60)).await;
    assert!(poll_immediate(call.as_mut()).await.is_none());
    assert_eq!(alive.count(), 1);
    assert_eq!(call.await.unwrap(), ["late"]);
    assert_eq!(alive.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_drops_the_model_call_too() {
    let running = Alive::default();
    let counted = Arc::downgrade(&running.0);
    let model = service_fn(move |_: Request| {
        let running = counted.upgrade();
        async move {
            let _running = running;
            pending::<Result<(), Infallible>>().await
        }
    });
    let mut service = layer_with([]).build().unwrap().layer(model);
    let call = started(Box::pin(service.ready().await.unwrap().call(request()))).await;
    assert_eq!(running.count(), 1);
    drop(call);
    assert_eq!(running.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_that_waits_for_the_model_leaves_the_queue() {
    let service = ServiceBuilder::new()
        .layer(layer_with([]).ready_after_gathering(true).build().unwrap())
        .layer(ConcurrencyLimitLayer::new(1))
        .service(service_fn(|_: Request| async {
            sleep(ms(10)).await;
            Ok::<_, Infallible>(())
        }));
    let first = tokio::spawn(service.clone().oneshot(request()));
    sleep(ms(1)).await;
    let waiting = started(Box::pin(service.clone().oneshot(request()))).await;
    drop(waiting);
    first.await.unwrap().unwrap();
    tokio::time::timeout(ms(15), service.oneshot(request())).await.unwrap().unwrap();
}
