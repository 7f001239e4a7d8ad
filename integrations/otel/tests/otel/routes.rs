//! With `tracing-opentelemetry` beside it there are two routes; each gives one set of spans.

use std::convert::Infallible;
use std::future::ready;

use cupel::gather::Source;
use cupel::layer::CupelLayer;
use cupel_otel::CupelVerbosity::StageOnly;
use cupel_otel::names::TRACING_TARGET;
use opentelemetry::trace::{Status, TracerProvider};
use opentelemetry_sdk::trace::SpanData;
use tower::{Layer as _, ServiceExt, service_fn};
use tracing::Instrument;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;

use crate::otel::common::{Exported, Request, document, layer, ms, refusing, request, slow};

/// A turn of an application that speaks `tracing`, and its model likewise.
async fn turn(layer: CupelLayer<Request, cupel::layer::ContextRequestAdapter>) {
    let model = service_fn(|_: Request| {
        async { Ok::<_, Infallible>(()) }.instrument(tracing::info_span!("chat model"))
    });
    let call = layer.layer(model).oneshot(request().item(document("a", 1, 0.5)));
    call.instrument(tracing::info_span!("turn")).await.unwrap();
}

/// The names of a span's ancestors and its own.
fn path(span: &SpanData, all: &[SpanData]) -> String {
    let parent = all.iter().find(|other| other.span_context.span_id() == span.parent_span_id);
    match parent {
        Some(parent) => format!("{} > {}", path(parent, all), span.name),
        None => span.name.to_string(),
    }
}

fn paths(exported: &Exported) -> Vec<String> {
    let spans = exported.spans();
    let mut paths: Vec<_> = spans.iter().map(|span| path(span, &spans)).collect();
    paths.sort();
    paths
}

/// The spans of a turn, whichever route they take.
const PATHS: [&str; 11] = [
    "turn",
    "turn > chat model",
    "turn > cupel.selection",
    "turn > cupel.selection > cupel.gather",
    "turn > cupel.selection > cupel.gather > cupel.source",
    "turn > cupel.selection > cupel.pipeline",
    "turn > cupel.selection > cupel.pipeline > cupel.stage.classify",
    "turn > cupel.selection > cupel.pipeline > cupel.stage.deduplicate",
    "turn > cupel.selection > cupel.pipeline > cupel.stage.place",
    "turn > cupel.selection > cupel.pipeline > cupel.stage.score",
    "turn > cupel.selection > cupel.pipeline > cupel.stage.slice",
];

#[tokio::test]
async fn the_companion_with_the_target_cupel_filtered_off() {
    let exported = Exported::new();
    let otel = tracing_opentelemetry::layer().with_tracer(exported.provider.tracer("app"));
    // The line of the README.
    let otel = otel.with_filter(filter_fn(|metadata| metadata.target() != TRACING_TARGET));
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(otel));
    let layer = layer().source(slow("rag", ms(1))).hook(exported.hook(StageOnly));
    turn(layer.build().unwrap()).await;
    assert_eq!(paths(&exported), PATHS);
}

#[tokio::test]
async fn tracing_alone_without_the_companion() {
    let exported = Exported::new();
    let otel = tracing_opentelemetry::layer().with_tracer(exported.provider.tracer("app"));
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(otel));
    turn(layer().source(slow("rag", ms(1))).build().unwrap()).await;
    assert_eq!(paths(&exported), PATHS);
}

#[tokio::test]
async fn tracing_alone_gives_failed_spans_an_error_status() {
    let exported = Exported::new();
    let otel = tracing_opentelemetry::layer().with_tracer(exported.provider.tracer("app"));
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(otel));
    let broken = Source::list("broken", |_: &Request| ready(Err::<Vec<_>, _>("no index")));
    let layer = layer().pipeline(refusing()).source(broken.optional()).build().unwrap();
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    layer.layer(model).oneshot(request().item(document("a", 1, 0.5))).await.unwrap_err();
    let failed = ["cupel.source", "cupel.stage.slice", "cupel.pipeline", "cupel.selection"];
    for span in exported.spans() {
        let is_error = matches!(span.status, Status::Error { .. });
        assert_eq!(is_error, failed.contains(&&*span.name), "{}", span.name);
        assert!(!format!("{span:?}").contains("not today"));
    }
    let error = |name: &str| {
        let span = exported.span(name);
        let found = span.attributes.iter().find(|pair| pair.key.as_str() == "error.type");
        found.map(|pair| pair.value.to_string())
    };
    assert_eq!(error("cupel.selection").as_deref(), Some("SlicerConfig"));
    assert_eq!(error("cupel.source").as_deref(), Some("failed"));
}
