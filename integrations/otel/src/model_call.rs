//! Span of one call to a model, from the request to the end of its answer.

use std::future::Future;
use std::time::SystemTime;

use opentelemetry::context::{FutureExt as _, WithContext};
use opentelemetry::trace::{SpanBuilder, SpanKind, TraceContextExt};
use opentelemetry::{Context, KeyValue, StringValue};

use crate::attributes;
use crate::spans::{SpanTracer, count, end, start};

/// Span of one call to a model, by OpenTelemetry's conventions for generative AI. It is for programs that stand
/// between clients and models, as a gateway does. Selections inside it become its children.
///
/// ```
/// use cupel_otel::{ModelCallSpan, ModelCallUsage};
///
/// # async fn call() {}
/// # async fn run() {
/// // Nothing is recorded without a tracer provider.
/// let Some(span) = ModelCallSpan::begin("chat") else { return };
/// span.model("gpt-4o");
/// span.within(call()).await;
/// span.usage(&ModelCallUsage { input: 900, cache_read: 640, output: 12, ..ModelCallUsage::default() });
/// span.end(None);
/// # }
/// ```
#[derive(Debug)]
#[must_use]
pub struct ModelCallSpan {
    context: Context,
    operation: &'static str,
}

/// Tokens of a call, as the model's server reports them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelCallUsage {
    /// Tokens of the request, the cached ones among them.
    pub input: i64,
    /// Tokens that the server read from its prompt cache.
    pub cache_read: i64,
    /// Tokens that the server wrote to its prompt cache.
    pub cache_creation: i64,
    /// Tokens of the answer.
    pub output: i64,
}

impl ModelCallSpan {
    /// Starts a span with the global tracer provider, as a child of the active span. `operation` is such as
    /// `chat`. `None` if nothing records the span.
    #[must_use]
    pub fn begin(operation: &'static str) -> Option<Self> {
        let tracer = SpanTracer::Global.tracer()?;
        let builder = SpanBuilder::from_name(operation)
            .with_kind(SpanKind::Client)
            .with_attributes([KeyValue::new(attributes::OPERATION_NAME, operation)]);
        let parent = Context::current();
        let span = start(&tracer, builder, &parent)?;
        Some(Self { context: parent.with_span(span), operation })
    }

    /// Names the model. The span is then called `{operation} {model}`.
    pub fn model(&self, model: &str) {
        let span = self.context.span();
        span.update_name(format!("{} {model}", self.operation));
        span.set_attribute(KeyValue::new(attributes::REQUEST_MODEL, model.to_owned()));
    }

    /// Names the conversation. Use a hash where the name may say something about a person.
    pub fn conversation(&self, id: impl Into<StringValue>) {
        self.set(KeyValue::new(attributes::CONVERSATION_ID, id.into()));
    }

    /// Says whether messages of the conversation were dropped, shortened or quoted.
    pub fn compacted(&self, is_compacted: bool) {
        self.set(KeyValue::new(attributes::CONVERSATION_COMPACTED, is_compacted));
    }

    /// Sets the tokens that were sent by our count, and those that the prompt cache is expected to read.
    pub fn expected(&self, sent: i64, cached: i64) {
        self.set(KeyValue::new(attributes::TOKENS_SENT, sent));
        self.set(KeyValue::new(attributes::TOKENS_CACHED, cached));
    }

    /// Sets the tokens that the model's server reported.
    pub fn usage(&self, usage: &ModelCallUsage) {
        self.context.span().set_attributes([
            KeyValue::new(attributes::USAGE_INPUT, usage.input),
            KeyValue::new(attributes::USAGE_OUTPUT, usage.output),
            KeyValue::new(attributes::USAGE_CACHE_READ, usage.cache_read),
            KeyValue::new(attributes::USAGE_CACHE_CREATION, usage.cache_creation),
        ]);
    }

    /// Sets the status of the HTTP answer.
    pub fn status(&self, status: u16) {
        self.set(KeyValue::new(attributes::HTTP_STATUS, count(usize::from(status))));
    }

    /// Runs a future in which this span is active.
    pub fn within<F: Future>(&self, future: F) -> WithContext<F> {
        future.with_context(self.context.clone())
    }

    /// Ends the span, with the name of an error if the call failed.
    pub fn end(&self, error: Option<&'static str>) {
        end(&self.context, error, SystemTime::now());
    }

    fn set(&self, attribute: KeyValue) {
        self.context.span().set_attribute(attribute);
    }
}
