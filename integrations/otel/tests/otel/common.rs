//! Providers that remember, and candidates whose selection can be worked out by hand.

use std::time::Duration;

use cupel::error::ConfigError;
use cupel::gather::Source;
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer, CupelLayerBuilder};
use cupel::pipeline::PipelineBuilder;
use cupel::slicer::SliceResult;
use cupel::{
    ChronologicalPlacer, ContextBudget, ContextItem, ContextKind, CupelError, GreedySlice,
    OverflowStrategy, Pipeline, ReflexiveScorer, ScoredItem, Slicer,
};
use cupel_otel::{CupelOtel, CupelOtelTraceCollector, CupelVerbosity};
use futures::StreamExt;
use opentelemetry::Context;
use opentelemetry::trace::{TraceContextExt, Tracer, TracerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, Sampler, SdkTracerProvider, SpanData};

pub(crate) const VERBOSITIES: [CupelVerbosity; 3] =
    [CupelVerbosity::StageOnly, CupelVerbosity::StageAndExclusions, CupelVerbosity::Full];

pub(crate) const STAGES: [&str; 5] = [
    "cupel.stage.classify",
    "cupel.stage.score",
    "cupel.stage.deduplicate",
    "cupel.stage.slice",
    "cupel.stage.place",
];

/// A provider and what it has exported.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) provider: SdkTracerProvider,
    exporter: InMemorySpanExporter,
}

impl Exported {
    pub(crate) fn new() -> Self {
        Self::sampled(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)))
    }

    pub(crate) fn sampled(sampler: Sampler) -> Self {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder()
            .with_sampler(sampler)
            .with_simple_exporter(exporter.clone())
            .build();
        Self { provider, exporter }
    }

    /// Everything that has ended, in the order it ended.
    pub(crate) fn spans(&self) -> Vec<SpanData> {
        self.exporter.get_finished_spans().unwrap()
    }

    /// The spans of this name.
    pub(crate) fn named(&self, name: &str) -> Vec<SpanData> {
        self.spans().into_iter().filter(|span| span.name == name).collect()
    }

    /// The only span of this name.
    pub(crate) fn span(&self, name: &str) -> SpanData {
        let named = self.named(name);
        assert_eq!(named.len(), 1, "{name}");
        named.into_iter().next().unwrap()
    }

    pub(crate) fn collector(&self, verbosity: CupelVerbosity) -> CupelOtelTraceCollector {
        CupelOtelTraceCollector::new(verbosity).tracer_provider(&self.provider)
    }

    pub(crate) fn hook(&self, verbosity: CupelVerbosity) -> CupelOtel {
        CupelOtel::new(verbosity).tracer_provider(&self.provider)
    }

    /// A span of the application, in a context of its own.
    pub(crate) fn app_span(&self, name: &'static str) -> Context {
        Context::new().with_span(self.provider.tracer("app").start(name))
    }
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn item(kind: ContextKind, content: &str, tokens: i64, hint: f64) -> ContextItem {
    let builder = ContextItem::builder(content, tokens).kind(kind);
    builder.future_relevance_hint(hint).build().unwrap()
}

pub(crate) fn document(content: &str, tokens: i64, hint: f64) -> ContextItem {
    item(ContextKind::document(), content, tokens, hint)
}

pub(crate) fn pinned(content: &str, tokens: i64) -> ContextItem {
    let builder = ContextItem::builder(content, tokens).kind(ContextKind::system_prompt());
    builder.pinned(true).build().unwrap()
}

pub(crate) fn budget(tokens: i64) -> ContextBudget {
    ContextBudget::builder(tokens).build().unwrap()
}

/// Under a budget of 100: the pinned item, `a` and `b` go in. One item each is left out for
/// negative tokens, as a duplicate, for its size, and because of the pinned item.
pub(crate) fn candidates() -> Vec<ContextItem> {
    vec![
        pinned("pin", 10),
        document("a", 40, 0.9),
        document("a", 40, 0.8),
        item(ContextKind::message(), "b", 40, 0.7),
        item(ContextKind::tool_output(), "large", 400, 0.6),
        item(ContextKind::memory(), "wide", 95, 0.5),
        item(ContextKind::message(), "negative", -1, 0.4),
    ]
}

pub(crate) fn pipeline() -> PipelineBuilder {
    Pipeline::builder().scorer(ReflexiveScorer).slicer(GreedySlice).placer(ChronologicalPlacer)
}

/// Selects from the [`candidates`].
pub(crate) fn run(collector: &mut CupelOtelTraceCollector) {
    let selected = pipeline().build().unwrap().run_traced(&candidates(), &budget(100), collector);
    assert_eq!(selected.unwrap().len(), 3);
}

/// A slicer that refuses, in its own words.
pub(crate) fn refusing() -> Pipeline {
    let refuse = |_: &[ScoredItem<'_>]| -> Result<SliceResult, CupelError> {
        Err(CupelError::SlicerConfig(ConfigError::new("Refusing", "", "not today")))
    };
    pipeline().slicer(Slices(refuse)).build().unwrap()
}

/// A slicer made of a function.
pub(crate) struct Slices<F>(pub(crate) F);

impl<F> Slicer for Slices<F>
where
    F: Fn(&[ScoredItem<'_>]) -> Result<SliceResult, CupelError> + Send + Sync,
{
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        _: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        (self.0)(items)
    }
}

/// Takes everything, so that placing has to truncate.
pub(crate) fn overflowing() -> Pipeline {
    let all = Slices(|items: &[ScoredItem<'_>]| Ok((0..items.len()).collect::<Vec<_>>().into()));
    pipeline().slicer(all).overflow_strategy(OverflowStrategy::Truncate).build().unwrap()
}

pub(crate) type Request = ContextRequest<i64>;
pub(crate) type Builder = CupelLayerBuilder<Request, ContextRequestAdapter>;

pub(crate) fn request() -> Request {
    ContextRequest::new(0)
}

/// A layer that selects as [`run`] does.
pub(crate) fn layer() -> Builder {
    CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .pipeline(pipeline().build().unwrap())
        .budget(budget(100))
}

/// Delivers a document after a while.
pub(crate) fn slow(name: &'static str, after: Duration) -> Source<Request> {
    Source::list(name, move |_: &Request| async move {
        tokio::time::sleep(after).await;
        Ok::<_, std::convert::Infallible>([document(name, 5, 0.3)])
    })
}

/// Delivers items that a call has to wait for, so that a streaming layer selects from them while
/// they arrive.
pub(crate) fn arriving<Req: 'static>(items: Vec<ContextItem>) -> Source<Req> {
    Source::stream("arriving", move |_: &Req| {
        let items = items.clone().into_iter().map(Ok::<_, std::convert::Infallible>);
        futures::stream::once(tokio::task::yield_now())
            .map(move |()| futures::stream::iter(items.clone()))
            .flatten()
    })
}
