//! Readiness before gathering holds a place at the model; readiness after gathering does not.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use cupel::gather::Source;
use cupel::layer::{ContextRequestAdapter, CupelLayer, Error};
use futures::future::join_all;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tower::limit::{ConcurrencyLimitLayer, GlobalConcurrencyLimitLayer};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_test::mock;

use crate::common::{Request, item, layer_with, ms, request};

/// A source that takes 50 ms.
fn slow_source() -> Source<Request> {
    Source::list("slow", |_: &Request| async {
        sleep(ms(50)).await;
        Ok::<_, Infallible>([item("late", 1)])
    })
}

fn slow_layer(ready_after_gathering: bool) -> CupelLayer<Request, ContextRequestAdapter> {
    layer_with([slow_source()]).ready_after_gathering(ready_after_gathering).build().unwrap()
}

/// End times of four calls to a model that takes one at a time for 10 ms.
async fn four_calls(ready_after_gathering: bool) -> Vec<Duration> {
    let model = service_fn(|_: Request| async {
        sleep(ms(10)).await;
        Ok::<_, Infallible>(())
    });
    let service = ServiceBuilder::new()
        .layer(slow_layer(ready_after_gathering))
        .layer(ConcurrencyLimitLayer::new(1))
        .service(model);
    let start = Instant::now();
    let mut ends = join_all((0..4).map(|_| {
        let service = service.clone();
        async move {
            service.oneshot(request()).await.unwrap();
            start.elapsed()
        }
    }))
    .await;
    ends.sort();
    ends
}

#[tokio::test(start_paused = true)]
async fn readiness_before_gathering_takes_turns_for_all_of_a_call() {
    assert_eq!(four_calls(false).await, [60, 120, 180, 240].map(ms));
}

#[tokio::test(start_paused = true)]
async fn readiness_after_gathering_takes_turns_only_at_the_model() {
    assert_eq!(four_calls(true).await, [60, 70, 80, 90].map(ms));
}

#[tokio::test(start_paused = true)]
async fn the_layer_is_always_ready_and_the_call_waits_for_the_model() {
    let (mut service, mut model) = mock::spawn_layer::<Request, &'static str, _>(slow_layer(true));
    model.allow(0);
    assert!(service.poll_ready().is_ready());

    let call = tokio::spawn(service.call(request()));
    sleep(ms(200)).await;
    assert!(!call.is_finished());
    model.allow(1);
    let (sent, answer) = model.next_request().await.unwrap();
    assert_eq!(sent.items().count(), 1);
    answer.send_response("done");
    assert_eq!(call.await.unwrap().unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn an_error_while_waiting_for_the_model_ends_the_call() {
    let (model, mut handle) = mock::pair::<Request, &'static str>();
    let mut service = slow_layer(true).layer(model);
    handle.send_error("gone");
    let start = Instant::now();
    let Err(Error::Inner(error)) = service.ready().await.unwrap().call(request()).await else {
        panic!("the error was not passed on");
    };
    assert_eq!(error.to_string(), "gone");
    assert_eq!(start.elapsed(), ms(50));
}

#[tokio::test(start_paused = true)]
async fn a_source_may_ask_the_model_behind_the_same_limit_when_readiness_comes_after_gathering() {
    let places = Arc::new(Semaphore::new(1));
    let model = ServiceBuilder::new()
        .layer(GlobalConcurrencyLimitLayer::with_semaphore(Arc::clone(&places)))
        .service(service_fn(|request: Request| async move {
            sleep(ms(10)).await;
            Ok::<_, Infallible>(request.items().count())
        }));
    let summary = Source::list("summary", move |_: &Request| {
        let places = Arc::clone(&places);
        async move {
            let _place = places.acquire().await;
            sleep(ms(10)).await;
            Ok::<_, Infallible>([item("summary", 1)])
        }
    });
    // By default the call holds the place that its source waits for.
    for (after, took, sent) in [(true, ms(20), 1), (false, ms(110), 0)] {
        let layer = layer_with([summary.clone().deadline(ms(100)).optional()])
            .ready_after_gathering(after)
            .build()
            .unwrap();
        let start = Instant::now();
        assert_eq!(layer.layer(model.clone()).oneshot(request()).await.unwrap(), sent);
        assert_eq!(start.elapsed(), took);
    }
}
