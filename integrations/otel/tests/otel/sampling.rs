//! Runs that are not recorded cost nothing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use cupel::diagnostics::{ExcludedItem, IncludedItem, PipelineStage, TraceCollector, TraceEvent};
use cupel::layer::{CallStart, SelectionHook};
use cupel::{ContextBudget, ContextItem};
use cupel_otel::{CupelMetrics, CupelOtel, CupelOtelTraceCollector, CupelVerbosity};
use opentelemetry::metrics::noop::NoopMeterProvider;
use opentelemetry::trace::{Link, SpanKind, TraceId};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{
    InMemorySpanExporter, Sampler, SamplingDecision, SamplingResult, SdkTracerProvider,
    ShouldSample,
};
use tower::{Layer, ServiceExt, service_fn};

use crate::otel::common::{Exported, Request, budget, candidates, layer, pipeline, request, run};

/// Counts what the pipeline tells the collector inside.
struct Counting(CupelOtelTraceCollector, AtomicUsize);

impl Counting {
    fn note(&self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

impl TraceCollector for Counting {
    fn is_enabled(&self) -> bool {
        self.0.is_enabled()
    }
    fn detail_level(&self) -> cupel::diagnostics::TraceDetailLevel {
        self.0.detail_level()
    }
    fn begin_run(&mut self, candidates: usize, budget: &ContextBudget) {
        self.0.begin_run(candidates, budget);
    }
    fn wants_items(&self) -> bool {
        self.0.wants_items()
    }
    fn record_stage_event(&mut self, event: TraceEvent) {
        self.note();
        self.0.record_stage_event(event);
    }
    fn record_item_event(&mut self, _: TraceEvent) {
        self.note();
    }
    fn record_included(&mut self, included: IncludedItem) {
        self.note();
        self.0.record_included(included);
    }
    fn record_excluded(&mut self, stage: &PipelineStage, excluded: ExcludedItem) {
        self.note();
        self.0.record_excluded(stage, excluded);
    }
    fn end_run(&mut self, outcome: Result<(), &cupel::CupelError>) {
        self.0.end_run(outcome);
    }
}

fn told(collector: CupelOtelTraceCollector, items: &[ContextItem]) -> usize {
    let mut counting = Counting(collector, AtomicUsize::new(0));
    pipeline().build().unwrap().run_traced(items, &budget(100), &mut counting).unwrap();
    counting.1.into_inner()
}

#[test]
fn a_run_that_is_sampled_out_tells_the_collector_nothing() {
    let out = Exported::sampled(Sampler::AlwaysOff);
    assert_eq!(told(out.collector(CupelVerbosity::Full), &candidates()), 0);
    assert!(out.spans().is_empty());
}

#[test]
fn a_run_tells_the_collector_what_its_verbosity_needs() {
    let exported = Exported::new();
    let stages = told(exported.collector(CupelVerbosity::StageOnly), &candidates());
    let all = told(exported.collector(CupelVerbosity::Full), &candidates());
    assert_eq!((stages, all), (5, 5 + 4 + 3));
}

#[test]
fn a_collector_that_was_not_watched_once_is_asked_again() {
    let exported = Exported::sampled(Sampler::ParentBased(Box::new(Sampler::AlwaysOff)));
    let mut collector = exported.collector(CupelVerbosity::Full);
    run(&mut collector);
    assert!(exported.spans().is_empty());
    // A caller whose trace is sampled.
    let sampled = Exported::new().app_span("caller");
    let _attached = sampled.attach();
    run(&mut collector);
    assert_eq!(exported.spans().len(), 6);
}

#[tokio::test]
async fn a_call_that_is_sampled_out_is_not_observed() {
    let out = Exported::sampled(Sampler::AlwaysOff);
    let hook = out.hook(CupelVerbosity::Full);
    assert!(hook.observe(&CallStart::new(SystemTime::now())).is_none());
    assert!(!hook.wants_selection());
    assert!(
        CupelOtel::new(CupelVerbosity::Full).observe(&CallStart::new(SystemTime::now())).is_none(),
        "no provider is set"
    );
    assert!(
        Exported::new()
            .hook(CupelVerbosity::StageOnly)
            .observe(&CallStart::new(SystemTime::now()))
            .is_some()
    );

    let model = service_fn(|_: Request| async { Ok::<_, std::convert::Infallible>(()) });
    let service = layer().hook(hook).build().unwrap().layer(model);
    service.oneshot(request().item(candidates().remove(1))).await.unwrap();
    assert!(out.spans().is_empty());
}

/// Drops the spans of calls and records all others.
#[derive(Debug, Clone)]
struct NoCalls;

impl ShouldSample for NoCalls {
    fn should_sample(
        &self,
        _: Option<&Context>,
        _: TraceId,
        name: &str,
        _: &SpanKind,
        _: &[KeyValue],
        _: &[Link],
    ) -> SamplingResult {
        let decision = match name {
            "cupel.selection" => SamplingDecision::Drop,
            _ => SamplingDecision::RecordAndSample,
        };
        SamplingResult { decision, attributes: Vec::new(), trace_state: Default::default() }
    }
}

#[tokio::test]
async fn a_call_that_is_only_measured_has_no_loose_spans() {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder()
        .with_sampler(NoCalls)
        .with_simple_exporter(exporter.clone())
        .build();
    let metrics = CupelMetrics::of(&NoopMeterProvider::new());
    let hook = CupelOtel::new(CupelVerbosity::Full).tracer_provider(&provider).metrics(metrics);
    let model = service_fn(|_: Request| async { Ok::<_, std::convert::Infallible>(()) });
    let service = layer().hook(hook).build().unwrap().layer(model);
    service.oneshot(request().item(candidates().remove(1))).await.unwrap();
    assert!(exporter.get_finished_spans().unwrap().is_empty());
}
