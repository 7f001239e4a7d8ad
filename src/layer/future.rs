//! The future of a call: what comes before the wrapped service, and the service's own future.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tower::Service;

use super::call::{Call, Step};
use super::{ContextAdapter, ContextError, Error, Selection};

/// The future of a call through [`CupelService`](super::CupelService).
///
/// Everything happens inside it: dropping it drops all sources at once. Polled again after its
/// end, it answers with [`ContextError::Finished`].
#[pin_project]
pub struct ResponseFuture<S: Service<Req>, Req, A: ContextAdapter<Req>> {
    #[pin]
    reported: ReportedFuture<S, Req, A>,
}

/// The future of [`CupelService::call_with_report`](super::CupelService::call_with_report): the
/// response and the selection that was sent.
#[pin_project]
pub struct ReportedFuture<S: Service<Req>, Req, A: ContextAdapter<Req>> {
    call: Call<Req, A>,
    #[pin]
    state: State<S, Req, A::Rest>,
}

#[pin_project(project = StateProjection)]
// Boxed, every call would allocate for it; and the service's future is rarely small.
#[allow(clippy::large_enum_variant)]
enum State<S: Service<Req>, Req, Rest> {
    /// Nothing has been sent: the service that will be called, and how far the request is. None
    /// when the call is over.
    Before(Option<(S, Step<Req, Rest>)>),
    Calling(#[pin] S::Future),
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> ReportedFuture<S, Req, A> {
    pub(super) fn new(service: S, call: Call<Req, A>, step: Step<Req, A::Rest>) -> Self {
        Self { call, state: State::Before(Some((service, step))) }
    }
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> ResponseFuture<S, Req, A> {
    pub(super) fn new(reported: ReportedFuture<S, Req, A>) -> Self {
        Self { reported }
    }
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> Future for ResponseFuture<S, Req, A> {
    type Output = Result<S::Response, Error<S::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().reported.poll(cx).map_ok(|(response, _)| response)
    }
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> Future for ReportedFuture<S, Req, A> {
    type Output = Result<(S::Response, Selection), Error<S::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let StateProjection::Before(before) = this.state.as_mut().project() {
            // Taken out, so that a call that fails or panics is over, and its service with it.
            let Some((mut service, step)) = before.take() else {
                return Poll::Ready(Err(ContextError::Finished.into()));
            };
            let request = match this.call.advance(step, cx) {
                Ok(Step::Ready(request)) => request,
                Ok(step) => {
                    *before = Some((service, step));
                    return Poll::Pending;
                }
                Err(error) => {
                    drop(service); // with it goes the place it held
                    this.call.fail(&error);
                    return Poll::Ready(Err(error.into()));
                }
            };
            if this.call.shared.ready_after_gathering {
                match service.poll_ready(cx) {
                    Poll::Ready(ready) => ready.map_err(Error::Inner)?,
                    Poll::Pending => {
                        *before = Some((service, Step::Ready(request)));
                        return Poll::Pending;
                    }
                }
            }
            let response = service.call(request);
            this.state.set(State::Calling(response));
        }
        if let StateProjection::Calling(response) = this.state.as_mut().project() {
            let response = ready!(response.poll(cx));
            this.state.set(State::Before(None));
            let selection = std::mem::replace(&mut this.call.selection, Selection::empty());
            return Poll::Ready(response.map(|r| (r, selection)).map_err(Error::Inner));
        }
        Poll::Ready(Err(ContextError::Finished.into()))
    }
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> fmt::Debug for ResponseFuture<S, Req, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").field("state", &self.reported.state.name()).finish()
    }
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> fmt::Debug for ReportedFuture<S, Req, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReportedFuture").field("state", &self.state.name()).finish()
    }
}

impl<S: Service<Req>, Req, Rest> State<S, Req, Rest> {
    fn name(&self) -> &'static str {
        match self {
            Self::Before(Some((_, Step::Failed(_)))) => "failed",
            Self::Before(Some((_, Step::Waiting(..)))) => "waiting for the adapter",
            Self::Before(Some((_, Step::Prepared(_)))) => "prepared",
            Self::Before(Some((_, Step::Judging(..)))) => "judging",
            Self::Before(Some((_, Step::Gathering(_)))) => "gathering",
            Self::Before(Some((_, Step::Selecting(..)))) => "selecting",
            Self::Before(Some((_, Step::Ready(_)))) => "awaiting ready",
            Self::Before(None) => "over",
            Self::Calling(_) => "calling",
        }
    }
}
