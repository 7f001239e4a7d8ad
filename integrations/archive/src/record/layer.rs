//! Layer and service that archive requests and their answers.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tower::{Layer, Service};

use super::queue::Recorder;
use super::transcript::{OpenTurn, Transcript};

/// Archives each call's new messages after it has succeeded; see the [module](super).
pub struct RecordLayer<T> {
    recorder: Recorder,
    transcript: Arc<T>,
}

impl<T> RecordLayer<T> {
    /// Archives what a transcript reads, through a recorder.
    pub fn new(recorder: Recorder, transcript: T) -> Self {
        Self { recorder, transcript: Arc::new(transcript) }
    }
}

impl<T> Clone for RecordLayer<T> {
    fn clone(&self) -> Self {
        Self { recorder: self.recorder.clone(), transcript: Arc::clone(&self.transcript) }
    }
}

impl<T> fmt::Debug for RecordLayer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordLayer").field("recorder", &self.recorder).finish_non_exhaustive()
    }
}

impl<S, T> Layer<S> for RecordLayer<T> {
    type Service = RecordService<S, T>;

    fn layer(&self, inner: S) -> Self::Service {
        RecordService { inner, layer: self.clone() }
    }
}

/// A service whose calls are archived.
pub struct RecordService<S, T> {
    inner: S,
    layer: RecordLayer<T>,
}

impl<S: Clone, T> Clone for RecordService<S, T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<S: fmt::Debug, T> fmt::Debug for RecordService<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordService").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<S, T, Req> Service<Req> for RecordService<S, T>
where
    S: Service<Req>,
    T: Transcript<Req, S::Response>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = RecordFuture<S::Future, T, Req>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let turn = self.layer.transcript.turn(&request);
        let turn = turn.map(|turn| OpenTurn::new(self.layer.recorder.clone(), turn));
        RecordFuture {
            call: self.inner.call(request),
            turn,
            transcript: Arc::clone(&self.layer.transcript),
            request: std::marker::PhantomData,
        }
    }
}

/// The response of a [`RecordService`].
#[pin_project]
pub struct RecordFuture<F, T, Req> {
    #[pin]
    call: F,
    turn: Option<OpenTurn>,
    transcript: Arc<T>,
    request: std::marker::PhantomData<fn(Req)>,
}

impl<F, T, Req, Res, E> Future for RecordFuture<F, T, Req>
where
    F: Future<Output = Result<Res, E>>,
    T: Transcript<Req, Res>,
{
    type Output = Result<Res, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let response = ready!(this.call.poll(cx))?;
        Poll::Ready(Ok(match this.turn.take() {
            Some(turn) => this.transcript.record(response, turn),
            None => response,
        }))
    }
}

impl<F, T, Req> fmt::Debug for RecordFuture<F, T, Req> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordFuture").field("turn", &self.turn).finish_non_exhaustive()
    }
}
