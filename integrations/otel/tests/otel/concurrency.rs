//! Calls at the same time never mix their spans.

use std::collections::HashMap;
use std::convert::Infallible;

use cupel::ContextBudget;
use cupel::gather::{BoxError, Source};
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
use cupel_otel::CupelVerbosity::Full;
use opentelemetry::context::FutureExt;
use opentelemetry::trace::{TraceContextExt, TraceId};
use opentelemetry::{Key, KeyValue, Value};
use opentelemetry_sdk::trace::SpanData;
use tower::{Layer, ServiceExt, service_fn};

use crate::otel::common::{Exported, Request, document, pipeline};

const CALLS: i64 = 200;

/// As many items as the call's number says, with rests between them.
fn source() -> Source<Request> {
    Source::list("numbered", |request: &Request| {
        let number = request.payload;
        async move {
            for _ in 0..number % 7 {
                tokio::task::yield_now().await;
            }
            Ok::<_, Infallible>((0..number).map(|n| document(&format!("{n}"), 1, 0.5)))
        }
    })
}

fn int(span: &SpanData, key: &'static str) -> i64 {
    let found = span.attributes.iter().find(|pair| pair.key == Key::from(key));
    match found {
        Some(KeyValue { value: Value::I64(value), .. }) => *value,
        other => panic!("{key} of {}: {other:?}", span.name),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_call_has_its_own_numbers_under_its_own_caller() {
    let exported = Exported::new();
    let budget = |request: &Request| -> Result<ContextBudget, BoxError> {
        Ok(ContextBudget::builder(10_000 + request.payload).build()?)
    };
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    // One after the other on the executor, the next on the blocking pool.
    let services = [u64::MAX, 0].map(|threshold| {
        CupelLayer::builder()
            .adapter(ContextRequestAdapter)
            .pipeline(pipeline().build().unwrap())
            .budget(budget)
            .source(source())
            .blocking_threshold(threshold)
            .hook(exported.hook(Full))
            .build()
            .unwrap()
            .layer(model)
    });
    let mut tasks = Vec::new();
    for number in 0..CALLS {
        let caller = exported.app_span("turn");
        caller.span().set_attribute(KeyValue::new("number", number));
        let service = services[number as usize % 2].clone();
        let call = service.oneshot(ContextRequest::new(number));
        tasks.push(tokio::spawn(call.with_context(caller)));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }

    let mut traces: HashMap<TraceId, Vec<SpanData>> = HashMap::new();
    for span in exported.spans() {
        traces.entry(span.span_context.trace_id()).or_default().push(span);
    }
    assert_eq!(traces.len(), CALLS as usize);
    for spans in traces.values() {
        let named = |name: &str| {
            let mut found = spans.iter().filter(|span| span.name == name);
            let span = found.next().unwrap_or_else(|| panic!("no {name}"));
            assert!(found.next().is_none(), "two of {name}");
            span
        };
        let number = int(named("turn"), "number");
        assert_eq!(spans.len(), 1 + 3 + 1 + 5, "call {number}");
        assert_eq!(int(named("cupel.source"), "cupel.source.items"), number);
        assert_eq!(int(named("cupel.pipeline"), "cupel.budget.max_tokens"), 10_000 + number);
        assert_eq!(int(named("cupel.stage.place"), "cupel.stage.item_count_out"), number);
        let parent = |name: &str| named(name).parent_span_id;
        let id = |name: &str| named(name).span_context.span_id();
        assert_eq!(parent("cupel.selection"), id("turn"));
        assert_eq!(parent("cupel.gather"), id("cupel.selection"));
        assert_eq!(parent("cupel.source"), id("cupel.gather"));
        assert_eq!(parent("cupel.pipeline"), id("cupel.selection"));
        assert_eq!(parent("cupel.stage.score"), id("cupel.pipeline"));
    }
}
