//! The runs and calls that are compared.

use std::convert::Infallible;
use std::future::ready;
use std::task::Context as TaskContext;
use std::time::Duration;

use cupel::diagnostics::NullTraceCollector;
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
use cupel::placer::UShapedPlacer;
use cupel::{ContextBudget, ContextItem, ContextKind, GreedySlice, Pipeline, ReflexiveScorer};
use cupel_otel::{CupelMetrics, CupelOtel, CupelOtelTraceCollector, CupelVerbosity};
use futures::FutureExt;
use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider, Span, SpanData, SpanProcessor};
use tower::{Layer, Service, service_fn};

use crate::measure::{self, Contestant};

/// Lets go of every span.
#[derive(Debug)]
struct LetGo;

impl SpanProcessor for LetGo {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        drop(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

fn provider(sampler: Sampler) -> SdkTracerProvider {
    SdkTracerProvider::builder().with_sampler(sampler).with_span_processor(LetGo).build()
}

fn meters() -> SdkMeterProvider {
    let reader = PeriodicReader::builder(InMemoryMetricExporter::default())
        .with_interval(Duration::from_secs(3_600))
        .build();
    SdkMeterProvider::builder().with_reader(reader).build()
}

/// Items of some 230 bytes and 40 to 79 tokens; one in fifty is there twice.
fn items(n: usize) -> Vec<ContextItem> {
    let kinds = [ContextKind::message(), ContextKind::document(), ContextKind::tool_output()];
    let item = |i: usize| {
        let text = if i % 50 == 49 { i - 1 } else { i };
        ContextItem::builder(format!("#{text:<230}"), 40 + (i * 17 % 40) as i64)
            .kind(kinds[i % kinds.len()].clone())
            .future_relevance_hint((i * 7_919 % 1_000) as f64 / 1_000.0)
            .build()
            .unwrap()
    };
    (0..n).map(item).collect()
}

fn pipeline() -> Pipeline {
    let builder = Pipeline::builder().scorer(ReflexiveScorer).slicer(GreedySlice);
    builder.placer(UShapedPlacer).build().unwrap()
}

/// Half of the items fit.
fn budget(n: usize) -> ContextBudget {
    ContextBudget::builder(n as i64 * 30).build().unwrap()
}

/// The pipeline with a collector, against the pipeline with none.
pub(crate) fn runs(n: usize, samples: usize) {
    let (pipeline, items, budget) = (pipeline(), items(n), budget(n));
    let (out, sampled) = (provider(Sampler::AlwaysOff), provider(Sampler::AlwaysOn));
    let meters = meters();
    let metrics = CupelMetrics::of(&meters);
    let unprovided = CupelMetrics::global();
    let traced = |mut collector: CupelOtelTraceCollector| {
        pipeline.run_traced(&items, &budget, &mut collector).unwrap()
    };
    let at = CupelOtelTraceCollector::new;
    use CupelVerbosity::{Full, StageAndExclusions, StageOnly};
    let contestants = vec![
        Contestant::new("run, NullTraceCollector", || {
            pipeline.run_traced(&items, &budget, &mut NullTraceCollector).unwrap()
        }),
        Contestant::new("run, no provider", || traced(at(Full))).at_most(1.05),
        Contestant::new("run, sampled out", || traced(at(Full).tracer_provider(&out))),
        Contestant::new("run, StageOnly", || traced(at(StageOnly).tracer_provider(&sampled))),
        Contestant::new("run, StageAndExclusions", || {
            traced(at(StageAndExclusions).tracer_provider(&sampled))
        }),
        Contestant::new("run, Full", || traced(at(Full).tracer_provider(&sampled))),
        Contestant::new("run, metrics alone", || traced(at(StageOnly).metrics(metrics.clone()))),
        Contestant::new("run, metrics, no provider", || {
            traced(at(StageOnly).metrics(unprovided.clone()))
        }),
    ];
    measure::print(n, samples, contestants);
}

/// The layer with the hook, against the layer without.
pub(crate) fn calls(n: usize, samples: usize) {
    let items = items(n);
    let (out, sampled) = (provider(Sampler::AlwaysOff), provider(Sampler::AlwaysOn));
    let call = |hook: Option<CupelOtel>| {
        let builder = CupelLayer::builder()
            .adapter(ContextRequestAdapter)
            .pipeline(pipeline())
            .budget(budget(n));
        let builder = match hook {
            Some(hook) => builder.hook(hook),
            None => builder,
        };
        let count =
            |request: ContextRequest<()>| ready(Ok::<_, Infallible>(request.items().count()));
        let mut service = builder.build().unwrap().layer(service_fn(count));
        let items = &items;
        move || {
            let request = ContextRequest::new(()).with_items(items.iter().cloned());
            let mut context = TaskContext::from_waker(futures::task::noop_waker_ref());
            assert!(service.poll_ready(&mut context).is_ready());
            service.call(request).now_or_never().unwrap().unwrap()
        }
    };
    let at = CupelOtel::new;
    use CupelVerbosity::{Full, StageAndExclusions, StageOnly};
    let with = |verbosity| Some(at(verbosity).tracer_provider(&sampled));
    let meters = meters();
    let measuring = |metrics| Some(at(StageOnly).metrics(metrics));
    let contestants = vec![
        Contestant::new("call, no hook", call(None)),
        Contestant::new("call, no provider", call(Some(at(Full)))).at_most(1.05),
        Contestant::new("call, sampled out", call(Some(at(Full).tracer_provider(&out)))),
        Contestant::new("call, StageOnly", call(with(StageOnly))),
        Contestant::new("call, StageAndExclusions", call(with(StageAndExclusions))),
        Contestant::new("call, Full", call(with(Full))),
        Contestant::new("call, metrics alone", call(measuring(CupelMetrics::of(&meters)))),
        Contestant::new("call, metrics, no provider", call(measuring(CupelMetrics::global()))),
    ];
    measure::print(n, samples, contestants);
}
