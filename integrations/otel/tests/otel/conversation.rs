//! The conversation goes onto the topmost span, where the caller has said it.

use std::convert::Infallible;

use cupel_otel::ConversationId;
use cupel_otel::CupelVerbosity::StageOnly;
use opentelemetry::baggage::BaggageExt;
use opentelemetry::context::FutureExt;
use opentelemetry::{Context, KeyValue};
use tower::{Layer, ServiceExt, service_fn};

use crate::otel::common::{Exported, Request, layer, request, run};

const KEY: &str = "gen_ai.conversation.id";

/// Lists the spans with the conversation that each one names.
fn said(exported: &Exported) -> Vec<(String, String)> {
    let mut said = Vec::new();
    for span in exported.spans() {
        for KeyValue { key, value, .. } in &span.attributes {
            if key.as_str() == KEY {
                said.push((span.name.to_string(), value.to_string()));
            }
        }
    }
    said
}

fn only(span: &str, id: &str) -> Vec<(String, String)> {
    vec![(span.to_owned(), id.to_owned())]
}

async fn call_in(context: Context) -> Exported {
    let exported = Exported::new();
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let service = layer().hook(exported.hook(StageOnly)).build().unwrap().layer(model);
    service.oneshot(request()).with_context(context).await.unwrap();
    exported
}

#[tokio::test]
async fn a_call_carries_the_conversation_of_the_callers_context() {
    let context = Context::new().with_value(ConversationId::new("conversation-7"));
    assert_eq!(said(&call_in(context).await), only("cupel.selection", "conversation-7"));
}

#[tokio::test]
async fn a_call_carries_the_conversation_of_the_callers_baggage() {
    let context = Context::new().with_baggage([KeyValue::new(KEY, "conversation-8")]);
    assert_eq!(said(&call_in(context.clone()).await), only("cupel.selection", "conversation-8"));
    // What was said to this crate comes first.
    let context = context.with_value(ConversationId::new("conversation-7"));
    assert_eq!(said(&call_in(context).await), only("cupel.selection", "conversation-7"));
}

#[tokio::test]
async fn nothing_is_said_where_the_caller_says_nothing() {
    assert!(said(&call_in(Context::new()).await).is_empty());
}

#[test]
fn a_run_without_a_layer_carries_it_on_its_root() {
    let exported = Exported::new();
    let context = exported.app_span("caller").with_value(ConversationId::new("conversation-9"));
    run(&mut exported.collector(StageOnly).parent(context.clone()));
    assert_eq!(said(&exported), only("cupel.pipeline", "conversation-9"));
    let exported = Exported::new();
    let _attached = context.attach();
    run(&mut exported.collector(StageOnly));
    assert_eq!(said(&exported), only("cupel.pipeline", "conversation-9"));
}

#[test]
fn a_conversation_without_a_span_around_it_counts_too() {
    let exported = Exported::new();
    let context = Context::new().with_value(ConversationId::new("conversation-10"));
    let _attached = context.attach();
    run(&mut exported.collector(StageOnly));
    assert_eq!(said(&exported), only("cupel.pipeline", "conversation-10"));
}
