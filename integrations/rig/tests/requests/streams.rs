//! Effects of a Tower stack on a streamed call, up to its first event.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cupel_rig::{AgentCall, ModelReply, RigModel, StreamingRequest};
use futures::{StreamExt as _, stream};
use rig_core::completion::CompletionRequest;
use rig_core::driver::{Exchange, Model, Opened, Opening, Transport};
use rig_core::error::ProviderError;
use rig_core::test_utils::{MockFrame, MockScript, MockStreamEvent};
use tokio::time::{Instant, sleep};
use tower::retry::Policy;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt as _};

/// Answers after three seconds, one word a second; the first so many calls fail.
#[derive(Clone, Default)]
struct Slow {
    failures: usize,
    calls: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

const WAIT: Duration = Duration::from_secs(3);

impl Transport<MockScript> for Slow {
    fn send(&self, _: CompletionRequest, _: Exchange) -> Opening<MockFrame> {
        let slow = self.clone();
        Opening::new(async move {
            let running = slow.running.fetch_add(1, Ordering::Relaxed) + 1;
            slow.most.fetch_max(running, Ordering::Relaxed);
            sleep(WAIT).await;
            slow.running.fetch_sub(1, Ordering::Relaxed);
            if slow.calls.fetch_add(1, Ordering::Relaxed) < slow.failures {
                return Err(ProviderError::Provider("too many requests".to_owned()));
            }
            let events = [
                MockStreamEvent::text("one "),
                MockStreamEvent::text("two"),
                MockStreamEvent::final_response_with_default_usage(),
            ];
            let events = stream::iter(events).then(|event| async {
                sleep(Duration::from_secs(1)).await;
                Ok(MockFrame::Event(event))
            });
            Ok(Opened::new(events))
        })
    }
}

fn slow(slow: &Slow) -> RigModel {
    RigModel::new(Model::new(MockScript::new("local"), slow.clone()))
}

fn ask() -> StreamingRequest {
    StreamingRequest(CompletionRequest::new("How many?"))
}

#[tokio::test(start_paused = true)]
async fn a_stream_comes_with_its_first_event_and_loses_none() {
    let start = Instant::now();
    let stream = slow(&Slow::default()).oneshot(ask()).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(4));
    assert_eq!(stream.finish().await.unwrap().text(), "one two");
    assert_eq!(start.elapsed(), Duration::from_secs(6));
    // The same for an agent's call.
    let call = AgentCall::new(ask().0, true);
    let ModelReply::Stream(stream) = slow(&Slow::default()).oneshot(call).await.unwrap() else {
        panic!("not a stream");
    };
    assert_eq!(stream.finish().await.unwrap().text(), "one two");
}

#[tokio::test(start_paused = true)]
async fn a_time_out_ends_a_call_that_has_not_begun_to_answer() {
    let start = Instant::now();
    let stack =
        ServiceBuilder::new().timeout(Duration::from_millis(500)).service(slow(&Slow::default()));
    let error = stack.oneshot(ask()).await.map(drop).unwrap_err();
    assert!(error.is::<tower::timeout::error::Elapsed>(), "{error}");
    assert_eq!(start.elapsed(), Duration::from_millis(500));
    // What has begun is not ended.
    let stack =
        ServiceBuilder::new().timeout(Duration::from_secs(5)).service(slow(&Slow::default()));
    let stream = stack.oneshot(ask()).await.unwrap();
    assert_eq!(stream.finish().await.unwrap().text(), "one two");
}

#[tokio::test(start_paused = true)]
async fn a_limit_counts_calls_that_wait_for_their_first_event() {
    let model = Slow::default();
    let stack = ServiceBuilder::new().concurrency_limit(1).service(slow(&model));
    let call = || async {
        let stream = stack.clone().oneshot(ask()).await.unwrap();
        stream.finish().await.unwrap()
    };
    futures::join!(call(), call(), call());
    assert_eq!(model.most.load(Ordering::Relaxed), 1);
}

#[derive(Clone)]
struct Again;

impl<T> Policy<AgentCall, T, BoxError> for Again {
    type Future = std::future::Ready<()>;

    fn retry(
        &mut self,
        _: &mut AgentCall,
        result: &mut Result<T, BoxError>,
    ) -> Option<Self::Future> {
        result.is_err().then(|| std::future::ready(()))
    }

    fn clone_request(&mut self, call: &AgentCall) -> Option<AgentCall> {
        Some(call.clone())
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_sees_the_error_of_a_stream_that_never_began() {
    let model = Slow { failures: 2, ..Slow::default() };
    let mut stack =
        ServiceBuilder::new().retry(Again).map_err(BoxError::from).service(slow(&model));
    let call = AgentCall::new(ask().0, true);
    let ModelReply::Stream(stream) = stack.ready().await.unwrap().call(call).await.unwrap() else {
        panic!("not a stream");
    };
    assert_eq!(stream.finish().await.unwrap().text(), "one two");
    assert_eq!(model.calls.load(Ordering::Relaxed), 3);
}
