//! Requests, layers and models that the tests share.

// Each test binary uses its own part.
#![allow(dead_code)]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use cupel::gather::{GatherReport, Source};
use cupel::layer::{
    ContextError, ContextRequest, ContextRequestAdapter, CupelLayer, CupelLayerBuilder,
    CupelService, Error, Selection, SelectionHook,
};
use cupel::{
    ChronologicalPlacer, ContextBudget, ContextItem, GreedySlice, Pipeline, ReflexiveScorer,
};
use tower::{Layer, Service, ServiceExt};

/// Work that takes so long, by a clock that stands still otherwise.
pub(crate) fn work(time: Duration) {
    let mut advance = std::pin::pin!(tokio::time::advance(time));
    let mut context = std::task::Context::from_waker(futures::task::noop_waker_ref());
    // The clock moves with the first poll; what follows is a turn for others.
    let _ = std::future::Future::poll(advance.as_mut(), &mut context);
}

/// A request whose payload is the name of a model.
pub(crate) type Request = ContextRequest<&'static str>;

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn item(content: &str, tokens: i64) -> ContextItem {
    ContextItem::new(content, tokens).unwrap()
}

pub(crate) fn pinned(content: &str, tokens: i64) -> ContextItem {
    ContextItem::builder(content, tokens).pinned(true).build().unwrap()
}

pub(crate) fn relevant(content: &str, tokens: i64, hint: f64) -> ContextItem {
    ContextItem::builder(content, tokens).future_relevance_hint(hint).build().unwrap()
}

/// `count` different items of one token, named `{prefix}-{number}`.
pub(crate) fn numbered(prefix: &str, count: usize) -> Vec<ContextItem> {
    (0..count).map(|number| item(&format!("{prefix}-{number}"), 1)).collect()
}

pub(crate) fn request() -> Request {
    ContextRequest::new("model")
}

pub(crate) fn budget(tokens: i64) -> ContextBudget {
    ContextBudget::builder(tokens).build().unwrap()
}

/// Best score per token first; what is selected stays in the order of its score.
pub(crate) fn pipeline() -> Pipeline {
    Pipeline::builder()
        .scorer(ReflexiveScorer)
        .slicer(GreedySlice)
        .placer(ChronologicalPlacer)
        .build()
        .unwrap()
}

/// A layer with a pipeline and a budget of 1,000 tokens.
pub(crate) fn layer() -> CupelLayerBuilder<Request, ContextRequestAdapter> {
    CupelLayer::builder().adapter(ContextRequestAdapter).pipeline(pipeline()).budget(budget(1_000))
}

/// As [`layer`], with sources.
pub(crate) fn layer_with(
    sources: impl IntoIterator<Item = Source<Request>>,
) -> CupelLayerBuilder<Request, ContextRequestAdapter> {
    sources.into_iter().fold(layer(), CupelLayerBuilder::source)
}

/// A model that answers with the contents it was sent, and counts its calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Echo {
    pub(crate) calls: Arc<AtomicUsize>,
}

impl Echo {
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Service<Request> for Echo {
    type Response = Vec<String>;
    type Error = Infallible;
    type Future = Ready<Result<Vec<String>, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.calls.fetch_add(1, Ordering::SeqCst);
        ready(Ok(contents(&request)))
    }
}

pub(crate) fn contents(request: &Request) -> Vec<String> {
    request.items().map(|item| item.content().to_owned()).collect()
}

/// Result of a call through the layer, with the report.
pub(crate) type Reported = Result<(Vec<String>, Selection), Error<Infallible>>;

/// One call over an [`Echo`], with the report.
pub(crate) async fn report(
    layer: CupelLayerBuilder<Request, ContextRequestAdapter>,
    request: Request,
) -> Reported {
    let mut service = layer.build().unwrap().with_report().layer(Echo::default());
    in_time(service.ready().await?.call(request)).await
}

/// Fails instead of hanging: an hour passes at once on a clock that stands still.
pub(crate) async fn in_time<F: Future>(call: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(3_600), call).await.expect("the call never ended")
}

/// One call through a service that an [`Echo`] is under.
pub(crate) async fn call(
    service: &mut CupelService<Echo, Request, ContextRequestAdapter>,
    request: Request,
) -> Result<Vec<String>, Error<Infallible>> {
    in_time(service.ready().await?.call(request)).await
}

/// The error of a call that was not let through to the model.
pub(crate) fn context_error<T>(outcome: Result<T, Error<Infallible>>) -> ContextError {
    match outcome {
        Ok(_) => panic!("the call succeeded"),
        Err(Error::Context(error)) => error,
        Err(Error::Inner(never)) => match never {},
    }
}

/// Remembers what hooks are told.
#[derive(Clone, Default)]
pub(crate) struct Recorder {
    pub(crate) selections: Arc<Mutex<Vec<Selection>>>,
    pub(crate) failures: Arc<Mutex<Vec<(String, GatherReport)>>>,
}

impl SelectionHook for Recorder {
    fn on_selection(&self, selection: &Selection) {
        self.selections.lock().unwrap().push(selection.clone());
    }

    fn on_failure(&self, error: &ContextError, gather: &GatherReport) {
        self.failures.lock().unwrap().push((error.to_string(), gather.clone()));
    }
}
