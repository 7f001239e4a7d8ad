//! One turn of an agent, and its trace on the console.
//!
//! Run it with `cargo run -p tower-cupel-otel --example export`.

mod console;
mod sources;

use std::error::Error;
use std::time::Duration;

use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
use cupel::tokens::{HeuristicCounter, TokenCounter};
use cupel::{ContextBudget, ContextItem, ContextKind, Policy};
use cupel_otel::{ConversationId, CupelOtel, CupelVerbosity};
use opentelemetry::context::FutureExt;
use opentelemetry::trace::{SpanKind, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue, global};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tower::{Layer, ServiceExt, service_fn};

use console::Console;

/// A request to the model: the question, and the context that is selected for it.
type Prompt = ContextRequest<String>;
type BoxError = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let provider = SdkTracerProvider::builder().with_batch_exporter(Console).build();
    global::set_tracer_provider(provider.clone());

    let layer = CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .policy(Policy::rag())
        .budget(ContextBudget::builder(900).output_reserve(300).build()?)
        .source(sources::history())
        .source(sources::documentation().deadline(Duration::from_millis(100)))
        .source(sources::wiki().deadline(Duration::from_millis(40)))
        .hook(CupelOtel::new(CupelVerbosity::StageAndExclusions))
        .build()?;

    let question = "How do I keep content out of my traces and metrics?";
    let pinned = ContextItem::builder(question, HeuristicCounter.count(question))
        .kind(ContextKind::message())
        .pinned(true)
        .build()?;
    let request = ContextRequest::new(question.to_owned()).item(pinned);

    // The application's own span; everything below happens inside it.
    let turn = global::tracer("agent").span_builder("turn").start(&global::tracer("agent"));
    let context =
        Context::current_with_span(turn).with_value(ConversationId::new("conversation-7"));
    let call = layer.layer(service_fn(model)).oneshot(request);
    call.with_context(context.clone()).await?;
    context.span().end();

    provider.shutdown()?;
    Ok(())
}

/// Stands for the client of a model, with the span such clients write.
async fn model(prompt: Prompt) -> Result<String, BoxError> {
    let tracer = global::tracer("model-client");
    let tokens: i64 = prompt.items().map(ContextItem::tokens).sum();
    let span = tracer
        .span_builder("chat demo-model")
        .with_kind(SpanKind::Client)
        .with_attributes([
            KeyValue::new("gen_ai.operation.name", "chat"),
            KeyValue::new("gen_ai.usage.input_tokens", tokens),
        ])
        .start(&tracer);
    let context = Context::current_with_span(span);
    tokio::time::sleep(Duration::from_millis(60)).await;
    context.span().end();
    Ok("Nothing to do: content never leaves.".to_owned())
}
