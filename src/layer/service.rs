//! The layer and the service it makes.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Handle;
use tower::{Layer, Service};

use super::call::Call;
use super::cost::Cost;
use super::future::{ReportedFuture, ResponseFuture};
use super::judging::Judging;
use super::planning::Planning;
use super::select::Job;
use super::streaming::StreamingMode;
use super::{BudgetProvider, ContextAdapter, Error, SelectionHook, WaitingJudge};
use crate::gather::{Source, SourceFacts};
use crate::pipeline::Pipeline;

/// Everything a call needs, shared by all calls.
pub(super) struct Shared<Req, A> {
    pub(super) adapter: A,
    pub(super) pipeline: Pipeline,
    /// Set when the question is used.
    pub(super) judging: Option<Judging>,
    /// Set when another judge is waited for.
    pub(super) waiting: Option<WaitingJudge>,
    pub(super) budget: Arc<dyn BudgetProvider<Req>>,
    pub(super) sources: Vec<Source<Req>>,
    pub(super) facts: Arc<[SourceFacts]>,
    pub(super) hooks: Vec<Arc<dyn SelectionHook>>,
    pub(super) gather_deadline: Duration,
    pub(super) ready_after_gathering: bool,
    pub(super) blocking_threshold: u64,
    pub(super) explain_scores: bool,
    pub(super) cost: Arc<Cost>,
    /// Set when turns are planned.
    pub(super) planning: Option<Planning>,
    /// Set when items are selected while they arrive.
    pub(super) streaming: Option<StreamingMode>,
}

/// Wraps services so that each request's context is selected first. Cheap to clone.
///
/// See the [module](crate::layer) for an example.
pub struct CupelLayer<Req, A> {
    shared: Arc<Shared<Req, A>>,
}

impl<Req, A> CupelLayer<Req, A> {
    /// How long sources may take together, unless the builder says otherwise.
    pub const DEFAULT_GATHER_DEADLINE: Duration = Duration::from_secs(2);

    /// Selections of at least this many steps run on the blocking pool.
    ///
    /// A step is about a nanosecond: every candidate counts 100 for being listed, sorted and
    /// dropped again and 150 where a report is wanted, and a knapsack one for every cell of its
    /// table. A custom scorer's time is learned from the calls before. The threshold is about two
    /// milliseconds: 20,000 candidates, or 8,000 with a report.
    ///
    /// [Judging](crate::relevance::Judge::steps) by the question goes there from as many steps on:
    /// with the built-in judge, some hundred new messages or some thousand known ones.
    pub const DEFAULT_BLOCKING_THRESHOLD: u64 = 2_000_000;

    pub(super) fn new(shared: Shared<Req, A>) -> Self {
        Self { shared: Arc::new(shared) }
    }
}

impl<Req, A> Clone for CupelLayer<Req, A> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<Req, A> fmt::Debug for CupelLayer<Req, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.debug(f, "CupelLayer")
    }
}

impl<Req, A> Shared<Req, A> {
    /// The blocking pool, for a selection that would hold the executor too long.
    pub(super) fn blocking_pool_for(&self, job: &Job) -> Option<Handle> {
        // Without a runtime there is no executor to hold up either.
        if job.steps() >= self.blocking_threshold { Handle::try_current().ok() } else { None }
    }

    fn debug(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        f.debug_struct(name)
            .field("pipeline", &self.pipeline)
            .field("sources", &self.sources)
            .field("gather_deadline", &self.gather_deadline)
            .field("ready_after_gathering", &self.ready_after_gathering)
            .finish_non_exhaustive()
    }
}

impl<S, Req, A> Layer<S> for CupelLayer<Req, A> {
    type Service = CupelService<S, Req, A>;

    fn layer(&self, inner: S) -> Self::Service {
        CupelService { inner, shared: Arc::clone(&self.shared) }
    }
}

/// Selects a request's context, then calls the wrapped service.
pub struct CupelService<S, Req, A> {
    inner: S,
    shared: Arc<Shared<Req, A>>,
}

impl<S, Req, A> CupelService<S, Req, A>
where
    S: Service<Req> + Clone,
    A: ContextAdapter<Req>,
{
    /// As [`Service::call`], with the selection beside the response.
    ///
    /// The service must be ready, as for `call`.
    pub fn call_with_report(&mut self, request: Req) -> ReportedFuture<S, Req, A> {
        self.start(request, true)
    }

    fn start(&mut self, request: Req, wants_report: bool) -> ReportedFuture<S, Req, A> {
        // The clone may not be ready, so it stays behind for the next `poll_ready`, and the
        // service that has been polled goes into the future.
        let clone = self.inner.clone();
        let service = std::mem::replace(&mut self.inner, clone);
        let (call, step) = Call::begin(&self.shared, request, wants_report);
        ReportedFuture::new(service, call, step)
    }
}

impl<S, Req, A> Service<Req> for CupelService<S, Req, A>
where
    S: Service<Req> + Clone,
    A: ContextAdapter<Req>,
{
    type Response = S::Response;
    type Error = Error<S::Error>;
    type Future = ResponseFuture<S, Req, A>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        if self.shared.ready_after_gathering {
            return Poll::Ready(Ok(()));
        }
        self.inner.poll_ready(cx).map_err(Error::Inner)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        ResponseFuture::new(self.start(request, false))
    }
}

impl<S: Clone, Req, A> Clone for CupelService<S, Req, A> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<S, Req, A> fmt::Debug for CupelService<S, Req, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.debug(f, "CupelService")
    }
}
