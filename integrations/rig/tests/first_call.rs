//! Counts that would hold the executor: the first of an encoding, and those of long texts. They are in
//! a file of their own, since every call after the first finds the encoding loaded.

#![cfg(feature = "tiktoken")]
#![allow(clippy::unwrap_used, missing_docs)]

use std::convert::Infallible;
use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use cupel::layer::{CupelLayer, CupelService};
use cupel::tokens::{CachedCounter, Encoding, counter_fn, shared_counter};
use cupel::{ContextBudget, Policy};
use cupel_rig::RigAdapter;
use rig_core::completion::CompletionRequest;
use tower::util::ServiceFn;
use tower::{Layer as _, ServiceBuilder, ServiceExt as _, service_fn};

type SentSummary = std::future::Ready<Result<CompletionRequest, Infallible>>;
type HandBack = ServiceFn<fn(CompletionRequest) -> SentSummary>;

fn service(adapter: RigAdapter) -> CupelService<HandBack, CompletionRequest, RigAdapter> {
    let layer = CupelLayer::builder()
        .adapter(adapter)
        .policy(Policy::chat())
        .budget(ContextBudget::builder(100_000).build().unwrap())
        .build()
        .unwrap();
    layer.layer(service_fn(|request| ready(Ok(request))))
}

/// A runtime whose only thread for blocking work is busy until the sender is dropped: what the call
/// hands to it cannot be done by the first poll, however slowly the test's own thread runs.
fn runtime_with_a_busy_blocking_thread() -> (tokio::runtime::Runtime, mpsc::Sender<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let (release, busy) = mpsc::channel::<()>();
    runtime.spawn_blocking(move || busy.recv());
    (runtime, release)
}

// A paused clock: if the encoding were loaded on the caller's task, the first poll would come back with
// an answer, and no time would pass.
#[test]
fn a_time_out_fires_while_the_encoding_of_the_requests_model_loads() {
    let (runtime, release) = runtime_with_a_busy_blocking_thread();
    runtime.block_on(async {
        let service = ServiceBuilder::new()
            .timeout(Duration::from_millis(500))
            .service(service(RigAdapter::new()));
        let call = service.oneshot(CompletionRequest::new("Where is the key?").model("gpt-4"));
        tokio::pin!(call);
        assert!(
            futures::poll!(&mut call).is_pending(),
            "the encoding was loaded on the caller's task"
        );
        tokio::time::advance(Duration::from_millis(501)).await;
        let error = call.await.unwrap_err();
        assert!(error.is::<tower::timeout::error::Elapsed>(), "{error}");
    });
    drop(release);
}

#[tokio::test]
async fn the_encoding_of_a_model_that_is_known_is_loaded_ahead_if_asked() {
    let counter = shared_counter(Encoding::O200k);
    let adapter = RigAdapter::for_model("openai/gpt-4o");
    assert!(!counter.is_ready(), "an adapter alone loads nothing");
    let _service = service(adapter.preload());
    let loaded = async {
        while !counter.is_ready() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), loaded).await.unwrap();
}

#[test]
fn a_long_text_is_counted_off_the_executor_and_once() {
    let (runtime, release) = runtime_with_a_busy_blocking_thread();
    let calls = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&calls);
    let counter = counter_fn("long ones", move |text| {
        counting.fetch_add(usize::from(text.len() > 50_000), Ordering::SeqCst);
        i64::try_from(text.len() / 4).unwrap()
    });
    runtime.block_on(async {
        let service = service(RigAdapter::new().counter(CachedCounter::new(counter)));
        let long = "word ".repeat(15_000);
        let call = service.oneshot(CompletionRequest::new(long.as_str()));
        tokio::pin!(call);
        assert!(
            futures::poll!(&mut call).is_pending(),
            "the text was counted on the caller's task"
        );
        drop(release);
        assert_eq!(call.await.unwrap().chat_history.len(), 1);
    });
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}
