//! Where spans go: to the global provider of the moment, to one that was given, or nowhere.

use std::sync::Arc;
use std::time::SystemTime;

use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::trace::{Span, SpanBuilder, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, InstrumentationScope, KeyValue};

use crate::attributes::ERROR_TYPE;
use crate::names::SCOPE;

/// Where spans go.
#[derive(Debug, Clone, Default)]
pub(crate) enum Tracers {
    /// Looked up for every run, so it does not matter what is set up first.
    #[default]
    Global,
    Given(Arc<BoxedTracer>),
    /// Nowhere: nobody records what this is part of.
    Off,
}

impl Tracers {
    pub(crate) fn of<P>(provider: &P) -> Self
    where
        P: TracerProvider,
        P::Tracer: Tracer + Send + Sync + 'static,
        <P::Tracer as Tracer>::Span: Span + Send + Sync + 'static,
    {
        Self::Given(Arc::new(BoxedTracer::new(Box::new(provider.tracer_with_scope(scope())))))
    }

    pub(crate) fn tracer(&self) -> Option<Arc<BoxedTracer>> {
        match self {
            Self::Global => Some(Arc::new(global::tracer_with_scope(scope()))),
            Self::Given(tracer) => Some(Arc::clone(tracer)),
            Self::Off => None,
        }
    }
}

/// The name and the version under which everything is recorded.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build()
}

/// Starts a span; None when nobody records it.
pub(crate) fn start(
    tracer: &BoxedTracer,
    builder: SpanBuilder,
    parent: &Context,
) -> Option<global::BoxedSpan> {
    Some(tracer.build_with_context(builder, parent)).filter(Span::is_recording)
}

/// Ends the span of a context; with error status, where it has failed: the name of the error, never its
/// text.
pub(crate) fn end(context: &Context, error: Option<&'static str>, ended: SystemTime) {
    let span = context.span();
    if let Some(name) = error {
        span.set_attribute(KeyValue::new(ERROR_TYPE, name));
        span.set_status(Status::error(name));
    }
    span.end_with_timestamp(ended);
}
