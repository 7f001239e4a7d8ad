//! Limits, buffers, retries, time-outs and load shedding below the layer see only the model call.

use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::gather::Source;
use cupel::layer::Error;
use futures::future::join_all;
use tokio::time::{Instant, sleep};
use tower::limit::ConcurrencyLimitLayer;
use tower::load_shed::error::Overloaded;
use tower::retry::{Policy, RetryLayer};
use tower::timeout::error::Elapsed;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::common::{Echo, Request, item, layer, layer_with, ms, request};

/// A source that takes this long.
fn taking(millis: u64) -> Source<Request> {
    Source::list("slow", move |_: &Request| async move {
        sleep(ms(millis)).await;
        Ok::<_, Infallible>([item("found", 1)])
    })
}

#[tokio::test(start_paused = true)]
async fn a_concurrency_limit_bounds_the_calls_to_the_model() {
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let model = service_fn({
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        move |_: Request| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(ms(10)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, Infallible>(())
            }
        }
    });
    let service = ServiceBuilder::new()
        .layer(layer_with([taking(5)]).ready_after_gathering(true).build().unwrap())
        .layer(ConcurrencyLimitLayer::new(3))
        .service(model);
    let calls = (0..12).map(|_| service.clone().oneshot(request()));
    assert!(join_all(calls).await.into_iter().all(|call| call.is_ok()));
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_or_is_dropped_gives_its_place_back() {
    let hanging = Source::list("hanging", |request: &Request| {
        let hang = request.payload == "hang";
        async move {
            if hang {
                pending::<()>().await;
            }
            Err::<Vec<_>, _>("broken")
        }
    });
    let mut service = ServiceBuilder::new()
        .layer(layer_with([hanging.required()]).build().unwrap())
        .layer(ConcurrencyLimitLayer::new(1))
        .service(Echo::default());

    let hanging = cupel::layer::ContextRequest::new("hang");
    let dropped = tokio::time::timeout(ms(10), service.ready().await.unwrap().call(hanging)).await;
    assert!(dropped.is_err());
    let failed = service.ready().await.unwrap().call(request()).await;
    assert!(matches!(failed, Err(Error::Context(_))));
    // Would wait forever for a place that was not given back.
    tokio::time::timeout(ms(10), service.ready()).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_gives_its_place_back_before_its_future_is_dropped() {
    let broken = Source::list("rag", |_: &Request| ready(Err::<Vec<_>, _>("broken")));
    let mut service = ServiceBuilder::new()
        .layer(layer_with([broken.required()]).build().unwrap())
        .layer(ConcurrencyLimitLayer::new(1))
        .service(Echo::default());
    let mut failed = std::pin::pin!(service.ready().await.unwrap().call(request()));
    assert!(failed.as_mut().await.is_err());
    tokio::time::timeout(ms(10), service.ready()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_buffer_can_be_wrapped() {
    let service = ServiceBuilder::new()
        .layer(layer_with([taking(0)]).build().unwrap())
        .buffer(4)
        .service(Echo::default());
    let tasks: Vec<_> = (0..20).map(|_| tokio::spawn(service.clone().oneshot(request()))).collect();
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap(), ["found"]);
    }
}

/// Tries again, up to `left` times, whatever the error.
#[derive(Clone)]
struct RetryModel {
    left: usize,
}

impl<Res, E> Policy<Request, Res, E> for RetryModel {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut Request, result: &mut Result<Res, E>) -> Option<Ready<()>> {
        result.as_ref().err()?;
        self.left = self.left.checked_sub(1)?;
        Some(ready(()))
    }

    fn clone_request(&mut self, request: &Request) -> Option<Request> {
        Some(request.clone())
    }
}

#[tokio::test]
async fn a_retry_sends_the_same_selection_again_without_gathering_again() {
    let opened = Arc::new(AtomicUsize::new(0));
    let source = Source::list("rag", {
        let opened = Arc::clone(&opened);
        move |_: &Request| {
            opened.fetch_add(1, Ordering::SeqCst);
            ready(Ok::<_, Infallible>([item("found", 1)]))
        }
    });
    let attempts = Arc::new(AtomicUsize::new(0));
    let model = service_fn({
        let attempts = Arc::clone(&attempts);
        move |request: Request| {
            let attempt = attempts.fetch_add(1, Ordering::SeqCst);
            ready(if attempt < 2 { Err("busy") } else { Ok(request.items().count()) })
        }
    });
    let service = ServiceBuilder::new()
        .layer(layer_with([source]).build().unwrap())
        .layer(RetryLayer::new(RetryModel { left: 5 }))
        .service(model);
    assert_eq!(service.oneshot(request().item(item("asked", 1))).await.unwrap(), 2);
    assert_eq!(attempts.load(Ordering::SeqCst), 3);
    assert_eq!(opened.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_counts_the_model_call_and_not_the_gathering() {
    let model = service_fn(|request: Request| async move {
        sleep(ms(if request.payload == "slow" { 90 } else { 10 })).await;
        Ok::<_, Infallible>(())
    });
    let mut service = ServiceBuilder::new()
        .layer(layer_with([taking(80)]).build().unwrap())
        .timeout(ms(50))
        .service(model);
    service.ready().await.unwrap().call(request()).await.unwrap();

    let start = Instant::now();
    let slow = cupel::layer::ContextRequest::new("slow");
    let error = service.ready().await.unwrap().call(slow).await.unwrap_err();
    let error: BoxError = error.into_inner().unwrap();
    assert!(error.is::<Elapsed>());
    assert_eq!(start.elapsed(), ms(130));
}

#[tokio::test(start_paused = true)]
async fn load_is_shed_as_an_error_of_the_wrapped_service() {
    let model = service_fn(|_: Request| async {
        sleep(ms(10)).await;
        Ok::<_, Infallible>(())
    });
    let mut service = ServiceBuilder::new()
        .layer(layer().build().unwrap())
        .load_shed()
        .concurrency_limit(1)
        .service(model);
    // A clone that has not been polled would shed this one as well.
    let first = tokio::spawn(service.ready().await.unwrap().call(request()));
    tokio::task::yield_now().await;
    let error = service.ready().await.unwrap().call(request()).await.unwrap_err();
    assert!(error.into_inner().unwrap().is::<Overloaded>());
    first.await.unwrap().unwrap();
}
