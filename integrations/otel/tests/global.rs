//! The global providers, in a process of their own: what is set first does not matter for spans.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::SystemTime;

use cupel::layer::{CallStart, SelectionHook};
use cupel::{ContextBudget, ContextItem, Policy};
use cupel_otel::{CupelMetrics, CupelOtel, CupelOtelTraceCollector, CupelVerbosity};
use opentelemetry::global;
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};

fn run(mut collector: CupelOtelTraceCollector) {
    let items = [ContextItem::new("hello", 2).unwrap()];
    let budget = ContextBudget::builder(10).build().unwrap();
    Policy::chat().to_pipeline().run_traced(&items, &budget, &mut collector).unwrap();
}

#[test]
fn spans_and_metrics_go_to_the_global_providers() {
    let early_hook = CupelOtel::new(CupelVerbosity::StageOnly);
    let early_collector = CupelOtelTraceCollector::new(CupelVerbosity::StageOnly);
    assert!(early_hook.observe(&CallStart::new(SystemTime::now())).is_none());

    let spans = InMemorySpanExporter::default();
    let tracers = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
    global::set_tracer_provider(tracers);
    let metrics = InMemoryMetricExporter::default();
    let reader = PeriodicReader::builder(metrics.clone()).build();
    let meters = SdkMeterProvider::builder().with_reader(reader).build();
    global::set_meter_provider(meters.clone());

    assert!(early_hook.observe(&CallStart::new(SystemTime::now())).is_some());
    run(early_collector.metrics(CupelMetrics::global()));
    let names: Vec<_> =
        spans.get_finished_spans().unwrap().iter().map(|span| span.name.to_string()).collect();
    assert!(names.contains(&"cupel.pipeline".to_owned()), "{names:?}");
    meters.force_flush().unwrap();
    let sent = metrics.get_finished_metrics().unwrap();
    assert_eq!(sent.last().unwrap().scope_metrics().next().unwrap().scope().name(), "cupel");
}
