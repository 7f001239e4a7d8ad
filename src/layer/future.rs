//! A call under way: gathering, selecting, waiting for the wrapped service, calling it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tower::Service;
use tracing::Span;

use super::observe::Observers;
use super::select::{Candidates, Job, Outcome, Prepared, Waiting};
use super::service::Shared;
use super::{ContextAdapter, ContextError, Error, Selection};
use crate::gather::GatherReport;

/// The future of a call through [`CupelService`](super::CupelService).
///
/// Everything happens inside it: dropping it drops all sources at once.
#[pin_project]
pub struct ResponseFuture<S: Service<Req>, Req, A: ContextAdapter<Req>> {
    #[pin]
    call: CallFuture<S, Req, A>,
}

/// The future of [`CupelService::call_with_report`](super::CupelService::call_with_report): the
/// response and the selection that was sent.
#[pin_project]
pub struct ReportedFuture<S: Service<Req>, Req, A: ContextAdapter<Req>> {
    #[pin]
    call: CallFuture<S, Req, A>,
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> ResponseFuture<S, Req, A> {
    pub(super) fn new(call: CallFuture<S, Req, A>) -> Self {
        Self { call }
    }
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> ReportedFuture<S, Req, A> {
    pub(super) fn new(call: CallFuture<S, Req, A>) -> Self {
        Self { call }
    }
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> Future for ResponseFuture<S, Req, A> {
    type Output = Result<S::Response, Error<S::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().call.poll(cx).map_ok(|(response, _)| response)
    }
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> Future for ReportedFuture<S, Req, A> {
    type Output = Result<(S::Response, Selection), Error<S::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().call.poll(cx)
    }
}

/// What both futures do.
#[pin_project]
pub(super) struct CallFuture<S: Service<Req>, Req, A: ContextAdapter<Req>> {
    shared: Arc<Shared<Req, A>>,
    wants_report: bool,
    span: Span,
    /// None once the service has been called, or never will be.
    service: Option<S>,
    selection: Selection,
    observers: Observers,
    #[pin]
    state: State<S::Future, Req, A::Rest>,
}

#[pin_project(project = StateProjection)]
enum State<F, Req, Rest> {
    /// Something failed before the first poll.
    Failed(Option<ContextError>),
    Gathering(Option<Prepared<Rest>>),
    /// On the blocking pool.
    Selecting(Selecting, Option<(Waiting<Rest>, GatherReport)>),
    /// Readiness was not asked for before the call.
    AwaitingReady(Option<Req>),
    Calling(#[pin] F),
}

/// A selection on the blocking pool. One that has not begun is withdrawn with its call.
struct Selecting(JoinHandle<Outcome>);

impl Drop for Selecting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> CallFuture<S, Req, A> {
    pub(super) fn new(
        shared: Arc<Shared<Req, A>>,
        service: S,
        prepared: Result<Prepared<A::Rest>, ContextError>,
        wants_report: bool,
        span: Span,
        observers: Observers,
    ) -> Self {
        let state = match prepared {
            Ok(prepared) => State::Gathering(Some(prepared)),
            Err(error) => State::Failed(Some(error)),
        };
        Self {
            shared,
            wants_report,
            span,
            service: Some(service),
            selection: Selection::empty(),
            observers,
            state,
        }
    }
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> Future for CallFuture<S, Req, A> {
    type Output = Result<(S::Response, Selection), Error<S::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let span = this.span.clone();
        let _entered = span.enter();
        this.observers.begin(&this.shared.hooks);
        loop {
            let step = match this.state.as_mut().project() {
                StateProjection::Failed(error) => match error.take() {
                    Some(error) => Err((error, GatherReport::default())),
                    None => return Poll::Pending, // polled again after the end
                },
                StateProjection::Gathering(slot) => {
                    let Some(prepared) = slot else { return Poll::Pending };
                    let gathered = ready!(prepared.poll_gathered(&this.shared.adapter, cx));
                    let Some(prepared) = slot.take() else { return Poll::Pending };
                    match gathered {
                        Err(failed) => Err(failed),
                        Ok(gather) => {
                            let budget = prepared.budget().clone();
                            match prepared.into_candidates(this.shared, gather) {
                                (Candidates::Streaming(streaming, gather), waiting) => waiting
                                    .join_streamed(
                                        this.shared,
                                        *streaming,
                                        this.observers.audience(*this.wants_report),
                                        gather,
                                    ),
                                (Candidates::Gathered(gathered), waiting) => {
                                    let job = Job {
                                        pipeline: this.shared.pipeline.clone(),
                                        gathered,
                                        budget,
                                        audience: this.observers.audience(*this.wants_report),
                                        span: span.clone(),
                                    };
                                    match this.shared.blocking_pool_for(&job) {
                                        None => waiting.join(this.shared, job.run()),
                                        Some(pool) => {
                                            let gather = job.gathered.report.clone();
                                            let job =
                                                Selecting(pool.spawn_blocking(move || job.run()));
                                            let waiting = Some((waiting, gather));
                                            this.state.set(State::Selecting(job, waiting));
                                            continue;
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
                StateProjection::Selecting(job, waiting) => {
                    let outcome = ready!(Pin::new(&mut job.0).poll(cx));
                    let Some((waiting, gather)) = waiting.take() else { return Poll::Pending };
                    match outcome {
                        Ok(outcome) => waiting.join(this.shared, outcome),
                        Err(error) => Err((panicked(error), gather)),
                    }
                }
                StateProjection::AwaitingReady(request) => {
                    let Some(service) = this.service else { return Poll::Pending };
                    ready!(service.poll_ready(cx)).map_err(Error::Inner)?;
                    let Some(request) = request.take() else { return Poll::Pending };
                    let response = service.call(request);
                    *this.service = None;
                    this.state.set(State::Calling(response));
                    continue;
                }
                StateProjection::Calling(response) => {
                    let response = ready!(response.poll(cx)).map_err(Error::Inner)?;
                    let selection = std::mem::replace(this.selection, Selection::empty());
                    return Poll::Ready(Ok((response, selection)));
                }
            };
            match step {
                Ok((request, selection)) => {
                    this.observers.selected(&selection);
                    *this.selection = selection;
                    if this.shared.ready_after_gathering {
                        this.state.set(State::AwaitingReady(Some(request)));
                    } else if let Some(mut service) = this.service.take() {
                        let response = service.call(request);
                        this.state.set(State::Calling(response));
                    }
                }
                Err((error, gather)) => {
                    this.state.set(State::Failed(None));
                    *this.service = None; // with it goes the place it held
                    this.observers.failed(&error, &gather);
                    this.shared.hooks.iter().for_each(|hook| hook.on_failure(&error, &gather));
                    return Poll::Ready(Err(error.into()));
                }
            }
        }
    }
}

impl<Req, A> Shared<Req, A> {
    /// The blocking pool, for a selection that would hold the executor too long.
    fn blocking_pool_for(&self, job: &Job) -> Option<Handle> {
        // Without a runtime there is no executor to hold up either.
        if job.steps() >= self.blocking_threshold { Handle::try_current().ok() } else { None }
    }
}

fn panicked(error: tokio::task::JoinError) -> ContextError {
    let message = match error.try_into_panic() {
        Ok(payload) => crate::gather::panic_message(&*payload),
        Err(cancelled) => cancelled.to_string(),
    };
    ContextError::Panicked { message }
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> fmt::Debug for ResponseFuture<S, Req, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").field("state", &self.call.state.name()).finish()
    }
}

impl<S: Service<Req>, Req, A: ContextAdapter<Req>> fmt::Debug for ReportedFuture<S, Req, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReportedFuture").field("state", &self.call.state.name()).finish()
    }
}

impl<F, Req, Rest> State<F, Req, Rest> {
    fn name(&self) -> &'static str {
        match self {
            Self::Failed(_) => "failed",
            Self::Gathering(_) => "gathering",
            Self::Selecting(..) => "selecting",
            Self::AwaitingReady(_) => "awaiting ready",
            Self::Calling(_) => "calling",
        }
    }
}
