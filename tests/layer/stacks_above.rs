//! Limits, buffers, retries, time-outs and load shedding above the layer see the whole call.

use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::gather::Source;
use cupel::layer::{ContextError, Error};
use futures::future::join_all;
use tokio::time::{Instant, sleep};
use tower::limit::ConcurrencyLimitLayer;
use tower::load_shed::error::Overloaded;
use tower::retry::{Policy, RetryLayer};
use tower::timeout::error::Elapsed;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::common::{Echo, Request, item, layer, layer_with, ms, request};

/// Counts how many of it are alive, and the most there ever were.
#[derive(Clone, Default)]
struct Gauge {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

struct Alive(Gauge);

impl Gauge {
    fn enter(&self) -> Alive {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        Alive(self.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A source that takes 20 ms and is counted while it runs.
fn counted(gauge: &Gauge) -> Source<Request> {
    let gauge = gauge.clone();
    Source::list("counted", move |_: &Request| {
        let gauge = gauge.clone();
        async move {
            let _alive = gauge.enter();
            sleep(ms(20)).await;
            Ok::<_, Infallible>([item("found", 1)])
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_concurrency_limit_bounds_how_many_calls_gather() {
    let gauge = Gauge::default();
    let service = ServiceBuilder::new()
        .layer(ConcurrencyLimitLayer::new(2))
        .layer(layer_with([counted(&gauge)]).build().unwrap())
        .service(Echo::default());
    let start = Instant::now();
    let calls = (0..6).map(|_| service.clone().oneshot(request()));
    assert!(join_all(calls).await.into_iter().all(|call| call.unwrap() == ["found"]));
    assert_eq!(gauge.most.load(Ordering::SeqCst), 2);
    assert_eq!(start.elapsed(), ms(60));
}

#[tokio::test(start_paused = true)]
async fn a_buffer_shares_the_layer_between_tasks() {
    let gauge = Gauge::default();
    let service = ServiceBuilder::new()
        .buffer(32)
        .layer(layer_with([counted(&gauge)]).build().unwrap())
        .service(Echo::default());
    let tasks: Vec<_> = (0..20).map(|_| tokio::spawn(service.clone().oneshot(request()))).collect();
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap(), ["found"]);
    }
    // The buffer's worker starts every call; none waits for another to gather.
    assert_eq!(gauge.most.load(Ordering::SeqCst), 20);
}

#[tokio::test]
async fn a_buffer_passes_the_layers_own_error_on() {
    let broken = Source::list("rag", |_: &Request| ready(Err::<Vec<_>, _>("index is gone")));
    let service = ServiceBuilder::new()
        .buffer(1)
        .layer(layer_with([broken.required()]).build().unwrap())
        .service(Echo::default());
    let error: BoxError = service.oneshot(request()).await.unwrap_err();
    let error = error.downcast::<Error<Infallible>>().unwrap();
    assert_eq!(error.to_string(), "required source \"rag\" failed: index is gone");
}

/// Tries again, up to `left` times, when a required source failed.
#[derive(Clone)]
struct RetrySources {
    left: usize,
}

impl<Res, E> Policy<Request, Res, Error<E>> for RetrySources {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        _request: &mut Request,
        result: &mut Result<Res, Error<E>>,
    ) -> Option<Ready<()>> {
        let error = result.as_ref().err()?;
        matches!(error.context()?, ContextError::Source { .. }).then_some(())?;
        self.left = self.left.checked_sub(1)?;
        Some(ready(()))
    }

    fn clone_request(&mut self, request: &Request) -> Option<Request> {
        Some(request.clone())
    }
}

#[tokio::test]
async fn a_retry_gathers_again() {
    let opened = Arc::new(AtomicUsize::new(0));
    let flaky = Source::list("flaky", {
        let opened = Arc::clone(&opened);
        move |_: &Request| {
            let attempt = opened.fetch_add(1, Ordering::SeqCst);
            ready(if attempt < 2 { Err("not yet") } else { Ok([item("found", 1)]) })
        }
    });
    let model = Echo::default();
    let service = ServiceBuilder::new()
        .layer(RetryLayer::new(RetrySources { left: 5 }))
        .layer(layer_with([flaky.required()]).build().unwrap())
        .service(model.clone());
    assert_eq!(
        service.oneshot(request().item(item("asked", 1))).await.unwrap(),
        ["asked", "found"]
    );
    assert_eq!(opened.load(Ordering::SeqCst), 3);
    assert_eq!(model.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_ends_the_call_and_its_sources_while_they_gather() {
    let gauge = Gauge::default();
    let hanging = Source::list("hanging", {
        let gauge = gauge.clone();
        move |_: &Request| {
            let gauge = gauge.clone();
            async move {
                let _alive = gauge.enter();
                pending::<Result<Vec<_>, Infallible>>().await
            }
        }
    });
    let model = Echo::default();
    let mut service = ServiceBuilder::new()
        .timeout(ms(100))
        .layer(layer_with([hanging]).build().unwrap())
        .service(model.clone());
    let start = Instant::now();
    let error = service.ready().await.unwrap().call(request()).await.unwrap_err();
    assert!(error.is::<Elapsed>());
    assert_eq!(start.elapsed(), ms(100));
    assert_eq!(gauge.most.load(Ordering::SeqCst), 1);
    assert_eq!(gauge.now.load(Ordering::SeqCst), 0);
    assert_eq!(model.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn load_is_shed_while_the_wrapped_service_is_not_ready() {
    let model = service_fn(|_: Request| async {
        sleep(ms(10)).await;
        Ok::<_, Infallible>(())
    });
    let mut service = ServiceBuilder::new()
        .load_shed()
        .layer(layer().build().unwrap())
        .concurrency_limit(1)
        .service(model);
    let first = tokio::spawn(service.ready().await.unwrap().call(request()));
    let shed = service.ready().await.unwrap().call(request()).await.unwrap_err();
    assert!(shed.is::<Overloaded>());
    first.await.unwrap().unwrap();
    service.ready().await.unwrap().call(request()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn two_layers_stack() {
    let notes = layer_with([Source::items("notes", [item("note", 1)])]).build().unwrap();
    let files = layer_with([Source::items("files", [item("file", 1)])]).build().unwrap();
    let service = notes.layer(files.layer(Echo::default()));
    assert_eq!(service.oneshot(request()).await.unwrap(), ["note", "file"]);
}
