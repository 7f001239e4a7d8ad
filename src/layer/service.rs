//! The layer, the service it makes, and the service's future.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project::pin_project;
use tower::{Layer, Service};

use super::selector::{SelectFuture, SelectedRequest, Selector};
use super::{ContextAdapter, ContextError, Error, PolicyHandle, Selection};
use crate::gather::work_place::DEFAULT_THRESHOLD;

/// Wraps services so that each request's context is selected first. Cheap to clone.
///
/// The service answers with the wrapped service's response, or, [with reports](Self::with_report), with
/// the response and the selection. See the [module](crate::layer) for an example.
pub struct CupelLayer<Req, A, M = ResponseOnly> {
    selector: Selector<Req, A>,
    mode: PhantomData<fn() -> M>,
}

/// Response of a [`CupelService`]: what the wrapped service answers.
#[derive(Debug, Clone, Copy)]
pub struct ResponseOnly;

/// Response of a [`CupelService`]: what the wrapped service answers, and the [`Selection`].
#[derive(Debug, Clone, Copy)]
pub struct WithReport;

/// Form of a service's response: [`ResponseOnly`] or [`WithReport`].
pub trait ResponseMode {
    /// `true` if the caller gets a report.
    const REPORTS: bool;
    /// The response, given the wrapped service's.
    type Response<R>;

    /// Puts the response together.
    fn respond<R>(response: R, selection: Selection) -> Self::Response<R>;
}

impl ResponseMode for ResponseOnly {
    const REPORTS: bool = false;
    type Response<R> = R;

    fn respond<R>(response: R, _: Selection) -> R {
        response
    }
}

impl ResponseMode for WithReport {
    const REPORTS: bool = true;
    type Response<R> = (R, Selection);

    fn respond<R>(response: R, selection: Selection) -> (R, Selection) {
        (response, selection)
    }
}

impl<Req, A> CupelLayer<Req, A> {
    /// Time that all sources may take together, unless the builder says otherwise.
    pub const DEFAULT_GATHER_DEADLINE: Duration = Duration::from_secs(2);

    /// Selections of at least this many steps run on the blocking pool.
    ///
    /// A step is about a nanosecond: every candidate counts 100 for being listed, sorted and
    /// dropped again and 150 where a report is wanted, and a knapsack one for every cell of its
    /// table. A custom scorer's time is learned from the calls before. The threshold is about two
    /// milliseconds: 20,000 candidates, or 8,000 with a report.
    ///
    /// [JudgeRules](crate::relevance::Judge::steps) by the question and
    /// [reading](super::RequestFacts::steps) a request go there from as many steps on: with the
    /// built-in judge, some hundred new messages or some thousand known ones.
    ///
    /// The pool may be full, for ever if something hangs in it. Work that it does not start within 100 ms
    /// runs on the executor if it takes less than 10 ms, and otherwise on one of up to 8 spare threads
    /// ([`off_executor`](super::off_executor)). A judge that takes longer is left out, and
    /// [`SelectionReport::relevance`](crate::SelectionReport::relevance) says so. If no spare thread becomes free
    /// in a second either, the work runs on the executor, with estimates for texts that are not counted yet:
    /// [`Selection::estimated`](super::Selection::estimated).
    pub const DEFAULT_BLOCKING_THRESHOLD: u64 = DEFAULT_THRESHOLD;

    pub(super) fn new(selector: Selector<Req, A>) -> Self {
        Self { selector, mode: PhantomData }
    }

    /// The same layer, whose services answer with `(Response, Selection)`. The report then survives any
    /// stack above it.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
    /// use cupel::{ContextBudget, ContextItem, Policy};
    /// use tower::{ServiceBuilder, ServiceExt, service_fn};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let layer = CupelLayer::builder()
    ///     .adapter(ContextRequestAdapter)
    ///     .policy(Policy::chat())
    ///     .budget(ContextBudget::builder(100).build()?)
    ///     .build()?;
    /// let model = service_fn(|request: ContextRequest<()>| async move {
    ///     Ok::<_, Infallible>(request.items().count())
    /// });
    /// let service = ServiceBuilder::new()
    ///     .timeout(std::time::Duration::from_secs(30))
    ///     .layer(layer.with_report())
    ///     .service(model);
    /// let request = ContextRequest::new(()).item(ContextItem::new("hello", 3)?);
    /// let (items_sent, selection) = service.oneshot(request).await?;
    /// assert_eq!((items_sent, selection.sent.tokens), (1, 3));
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn with_report(self) -> CupelLayer<Req, A, WithReport> {
        CupelLayer { selector: self.selector, mode: PhantomData }
    }
}

impl<Req, A, M> CupelLayer<Req, A, M> {
    /// Selects without a service: `selector().select(request)`.
    #[must_use]
    pub fn selector(&self) -> Selector<Req, A> {
        self.selector.clone()
    }
}

impl<Req: Send + 'static, A: ContextAdapter<Req> + 'static, M> CupelLayer<Req, A, M> {
    /// A handle that replaces the policy of this layer while its services run.
    #[must_use]
    pub fn policy_handle(&self) -> PolicyHandle {
        self.selector.policy_handle()
    }
}

impl<Req, A, M> Clone for CupelLayer<Req, A, M> {
    fn clone(&self) -> Self {
        Self { selector: self.selector.clone(), mode: PhantomData }
    }
}

impl<Req, A, M> fmt::Debug for CupelLayer<Req, A, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.selector.debug(f, "CupelLayer")
    }
}

impl<S, Req, A, M> Layer<S> for CupelLayer<Req, A, M> {
    type Service = CupelService<S, Req, A, M>;

    fn layer(&self, inner: S) -> Self::Service {
        CupelService { inner, selector: self.selector.clone(), mode: PhantomData }
    }
}

/// Selects a request's context, then calls the wrapped service.
pub struct CupelService<S, Req, A, M = ResponseOnly> {
    inner: S,
    selector: Selector<Req, A>,
    mode: PhantomData<fn() -> M>,
}

impl<S, Req, A, M> CupelService<S, Req, A, M> {
    /// The wrapped service.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The wrapped service, to be changed.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Takes the wrapped service out.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, Req, A, M> Service<Req> for CupelService<S, Req, A, M>
where
    S: Service<Req> + Clone,
    Req: Send + 'static,
    A: ContextAdapter<Req> + 'static,
    M: ResponseMode,
{
    type Response = M::Response<S::Response>;
    type Error = Error<S::Error>;
    type Future = ResponseFuture<S, Req, M>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        if self.selector.is_ready_after_gathering() {
            return Poll::Ready(Ok(()));
        }
        self.inner.poll_ready(cx).map_err(Error::Inner)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        // The clone may not be ready, so it stays behind for the next `poll_ready`, and the
        // service that has been polled goes into the future.
        let clone = self.inner.clone();
        let service = std::mem::replace(&mut self.inner, clone);
        let select = self.selector.start(request, M::REPORTS);
        let waits = self.selector.is_ready_after_gathering();
        ResponseFuture {
            waits,
            state: State::Selecting(Some((service, select))),
            mode: PhantomData,
        }
    }
}

impl<S: Clone, Req, A, M> Clone for CupelService<S, Req, A, M> {
    fn clone(&self) -> Self {
        let (inner, selector) = (self.inner.clone(), self.selector.clone());
        Self { inner, selector, mode: PhantomData }
    }
}

impl<S, Req, A, M> fmt::Debug for CupelService<S, Req, A, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.selector.debug(f, "CupelService")
    }
}

/// The future of a call through [`CupelService`].
///
/// Everything happens inside it: dropping it drops all sources at once. Polled again after its
/// end, it answers with [`ContextError::Finished`].
#[pin_project]
pub struct ResponseFuture<S: Service<Req>, Req, M = ResponseOnly> {
    /// `true` if the service has to get ready after the selection.
    waits: bool,
    #[pin]
    state: State<S, Req>,
    mode: PhantomData<fn() -> M>,
}

#[pin_project(project = StateProjection)]
// Boxed, every call would allocate for it; and the service's future is rarely small.
#[allow(clippy::large_enum_variant)]
enum State<S: Service<Req>, Req> {
    /// Nothing has been sent. None while it is polled, and when it has panicked.
    Selecting(Option<(S, SelectFuture<Req>)>),
    /// The service is not ready yet.
    Waiting(Option<(S, SelectedRequest<Req>)>),
    Calling(#[pin] S::Future, Option<Box<Selection>>),
    Over,
}

impl<S: Service<Req>, Req, M: ResponseMode> Future for ResponseFuture<S, Req, M> {
    type Output = Result<M::Response<S::Response>, Error<S::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state.as_mut().project() {
                StateProjection::Selecting(before) => {
                    // Taken out, so that a call that fails or panics is over, and its service with it.
                    let Some((service, mut select)) = before.take() else { break };
                    match select.as_mut().poll(cx) {
                        Poll::Pending => {
                            *before = Some((service, select));
                            return Poll::Pending;
                        }
                        Poll::Ready(Ok(selected)) => {
                            drop(select); // and its span with it: the call is made beside it
                            let waiting = Some((service, selected));
                            this.state.set(State::Waiting(waiting));
                        }
                        Poll::Ready(Err(error)) => {
                            this.state.set(State::Over);
                            drop(service); // with it goes the place it held
                            return Poll::Ready(Err(error.into()));
                        }
                    }
                }
                StateProjection::Waiting(before) => {
                    let Some((mut service, selected)) = before.take() else { break };
                    if *this.waits {
                        match service.poll_ready(cx) {
                            Poll::Ready(ready) => ready.map_err(Error::Inner)?,
                            Poll::Pending => {
                                *before = Some((service, selected));
                                return Poll::Pending;
                            }
                        }
                    }
                    let SelectedRequest { request, selection } = selected;
                    let response = service.call(request);
                    this.state.set(State::Calling(response, Some(selection)));
                }
                StateProjection::Calling(response, selection) => {
                    let response = ready!(response.poll(cx));
                    let selection =
                        selection.take().map_or_else(Selection::empty, |selection| *selection);
                    this.state.set(State::Over);
                    let respond = |response| M::respond(response, selection);
                    return Poll::Ready(response.map(respond).map_err(Error::Inner));
                }
                StateProjection::Over => break,
            }
        }
        this.state.set(State::Over);
        Poll::Ready(Err(ContextError::Finished.into()))
    }
}

impl<S: Service<Req>, Req, M> fmt::Debug for ResponseFuture<S, Req, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Selecting(_) => "selecting",
            State::Waiting(_) => "awaiting ready",
            State::Calling(..) => "calling",
            State::Over => "over",
        };
        f.debug_struct("ResponseFuture").field("state", &state).finish()
    }
}
