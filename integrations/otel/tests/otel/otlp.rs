//! End to end: through the batch processor and the OTLP exporter to a collector on loopback, which
//! reads the real protobuf.

use std::convert::Infallible;

use cupel_otel::{CupelMetrics, CupelOtel, CupelVerbosity};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tower::{Layer, ServiceExt, service_fn};

use crate::otel::common::{Request, STAGES, candidates, layer, ms, request, slow};
use crate::otel::exporters::Exporters as _;
use cupel_dev_servers::collector::Collector;

async fn export_one_call(stub: &Collector) {
    let tracers = SdkTracerProvider::builder().with_batch_exporter(stub.span_exporter()).build();
    let reader = PeriodicReader::builder(stub.metric_exporter()).build();
    let meters = SdkMeterProvider::builder().with_reader(reader).build();
    let hook = CupelOtel::new(CupelVerbosity::Full)
        .tracer_provider(&tracers)
        .metrics(CupelMetrics::of(&meters));
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let service = layer().source(slow("rag", ms(1))).hook(hook).build().unwrap().layer(model);
    let mut asked = request();
    for item in candidates() {
        asked = asked.item(item);
    }
    service.oneshot(asked).await.unwrap();
    tracers.shutdown().unwrap();
    meters.shutdown().unwrap();
}

fn text<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|pair| pair.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}

#[tokio::test]
async fn spans_arrive_as_a_tree_with_times() {
    let stub = Collector::start();
    export_one_call(&stub).await;
    let traces = stub.traces();
    let scopes = traces.iter().flat_map(|t| &t.resource_spans).flat_map(|r| &r.scope_spans);
    let mut spans: Vec<&Span> = Vec::new();
    for scope in scopes {
        assert_eq!(scope.scope.as_ref().unwrap().name, "cupel");
        spans.extend(&scope.spans);
    }
    let named = |name: &str| *spans.iter().find(|span| span.name == name).unwrap();
    assert_eq!(spans.len(), 1 + 2 + 1 + 5);
    let (call, pipeline) = (named("cupel.selection"), named("cupel.pipeline"));
    assert!(call.parent_span_id.is_empty());
    assert_eq!(named("cupel.gather").parent_span_id, call.span_id);
    assert_eq!(named("cupel.source").parent_span_id, named("cupel.gather").span_id);
    assert_eq!(pipeline.parent_span_id, call.span_id);
    for stage in STAGES {
        let stage = named(stage);
        assert_eq!(stage.parent_span_id, pipeline.span_id);
        assert!(pipeline.start_time_unix_nano <= stage.start_time_unix_nano);
        assert!(stage.start_time_unix_nano <= stage.end_time_unix_nano);
        assert!(stage.end_time_unix_nano <= pipeline.end_time_unix_nano);
    }
    assert!(spans.iter().all(|span| span.trace_id == call.trace_id));
    assert_eq!(text(&pipeline.attributes, "cupel.verbosity"), Some("Full"));
    let reasons: Vec<_> = named("cupel.stage.slice")
        .events
        .iter()
        .map(|event| {
            (event.name.as_str(), text(&event.attributes, "cupel.exclusion.reason").unwrap())
        })
        .collect();
    let wanted = [("cupel.exclusion", "BudgetExceeded"), ("cupel.exclusion", "PinnedOverride")];
    assert_eq!(reasons, wanted);
    assert_eq!(named("cupel.stage.place").events.len(), 4);
}

#[tokio::test]
async fn metrics_arrive_with_units_and_labels() {
    let stub = Collector::start();
    export_one_call(&stub).await;
    let sent = stub.metrics();
    let scopes = sent.iter().flat_map(|m| &m.resource_metrics).flat_map(|r| &r.scope_metrics);
    let metrics: Vec<_> = scopes.flat_map(|scope| &scope.metrics).collect();
    let named = |name: &str| *metrics.iter().find(|metric| metric.name == name).unwrap();
    assert_eq!(named("cupel.pipeline.duration").unit, "s");
    let Some(Data::Histogram(tokens)) = &named("cupel.selection.tokens").data else {
        panic!("not a histogram");
    };
    assert_eq!(tokens.data_points[0].sum, Some(95.0));
    let Some(Data::Sum(excluded)) = &named("cupel.items.excluded").data else {
        panic!("not a counter");
    };
    let mut reasons: Vec<_> = excluded
        .data_points
        .iter()
        .map(|point| text(&point.attributes, "cupel.exclusion.reason").unwrap())
        .collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["BudgetExceeded", "Deduplicated", "NegativeTokens", "PinnedOverride"]);
}
