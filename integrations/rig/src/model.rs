//! A rig model as a Tower service.

use std::fmt;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt as _, TryFutureExt as _};
use futures::stream::{self, StreamExt as _};
use rig_core::DynModel;
use rig_core::completion::{CompletionRequest, CompletionResponse};
use rig_core::error::ProviderError;
use rig_core::operation::Completion;
use rig_core::streaming::{CompletionStream, Relayed};
use tower::Service;

use crate::{AgentCall, StreamingRequest};

/// Any rig completion model as a service: whole answers for a [`CompletionRequest`], streams for
/// a [`StreamingRequest`] one, and either for an [`AgentCall`]. Cheap to clone.
///
/// A stream is returned with its first event: up to there time-outs, limits and retries around the
/// service hold, and an error before it is the call's error. After it the stream is its reader's:
/// a time-out does not end it, a limit does not count it, and nothing is retried; an error in it is
/// the stream's last item, as [`ProviderError::Relayed`]. Whoever stops reading drops the stream,
/// and the call with it.
///
/// ```
/// use cupel_rig::RigModel;
/// use rig_core::completion::CompletionRequest;
/// use rig_core::test_utils::MockCompletionModel;
/// use tower::ServiceExt as _;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let model = RigModel::new(MockCompletionModel::text("It closes at six."));
/// let request = CompletionRequest::new("When does the office close?");
/// let answer = model.oneshot(request).await?;
/// assert_eq!(answer.text(), "It closes at six.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct RigModel {
    model: DynModel<Completion>,
}

impl RigModel {
    /// Serves `model`.
    pub fn new(model: impl Into<DynModel<Completion>>) -> Self {
        Self { model: model.into() }
    }
}

impl fmt::Debug for RigModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RigModel").field(&self.model).finish()
    }
}

impl Service<CompletionRequest> for RigModel {
    type Response = CompletionResponse;
    type Error = ProviderError;
    type Future = BoxFuture<'static, Result<CompletionResponse, ProviderError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ProviderError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: CompletionRequest) -> Self::Future {
        self.model.call(request).boxed()
    }
}

impl Service<StreamingRequest> for RigModel {
    type Response = CompletionStream;
    type Error = ProviderError;
    type Future = BoxFuture<'static, Result<CompletionStream, ProviderError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ProviderError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, StreamingRequest(request): StreamingRequest) -> Self::Future {
        begun(self.model.clone(), self.model.stream(request)).boxed()
    }
}

impl Service<AgentCall> for RigModel {
    type Response = ModelReply;
    type Error = ProviderError;
    type Future = BoxFuture<'static, Result<ModelReply, ProviderError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ProviderError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: AgentCall) -> Self::Future {
        let AgentCall { request, stream, observation } = call;
        let model = self.model.clone();
        if stream {
            let opened = match observation {
                None => model.stream(request),
                Some(observation) => model.stream_observed(request, observation),
            };
            return begun(model, opened)
                .map_ok(|stream| ModelReply::Stream(Box::new(stream)))
                .boxed();
        }
        let answered = match observation {
            None => model.call(request).boxed(),
            Some(observation) => model.call_observed(request, observation).boxed(),
        };
        answered.map_ok(|response| ModelReply::Whole(Box::new(response))).boxed()
    }
}

/// The stream, once its first event is there. Nothing is sent before a stream is polled.
async fn begun(
    model: DynModel<Completion>,
    opened: Result<CompletionStream, ProviderError>,
) -> Result<CompletionStream, ProviderError> {
    let mut stream = opened?;
    let Some(first) = stream.next().await.transpose()? else { return Ok(stream) };
    // An event that was taken goes back by a relay, after the item that says whose reply it is.
    let mut rest = stream.into_relay();
    let origin = rest.next().await;
    let events = stream::iter(origin.into_iter().chain([Ok(Relayed::Item(first))])).chain(rest);
    Ok(CompletionStream::relay(model.name(), events.boxed()))
}

/// Answer of a model to an [`AgentCall`].
///
/// A stack may answer a streamed call with a whole response, from a cache for instance; the agent
/// then sees it as a stream of one piece.
pub enum ModelReply {
    /// The whole answer.
    Whole(Box<CompletionResponse>),
    /// The answer as it arrives.
    Stream(Box<CompletionStream>),
}

impl fmt::Debug for ModelReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(response) => f.debug_tuple("Whole").field(response).finish(),
            Self::Stream(_) => f.write_str("Stream(..)"),
        }
    }
}
