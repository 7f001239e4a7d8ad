//! Where spans go: to the global provider of the moment, to one that was given, or nowhere.

use std::ops::Deref;
use std::sync::Arc;

use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::trace::{Span, SpanRef, Status, Tracer, TracerProvider};
use opentelemetry::{Context, InstrumentationScope, KeyValue, trace};

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

    pub(crate) fn tracer(&self) -> Option<RunTracer> {
        match self {
            Self::Global => Some(RunTracer::Own(global::tracer_with_scope(scope()))),
            Self::Given(tracer) => Some(RunTracer::Shared(Arc::clone(tracer))),
            Self::Off => None,
        }
    }
}

/// The tracer of one run.
#[derive(Debug)]
pub(crate) enum RunTracer {
    Own(BoxedTracer),
    Shared(Arc<BoxedTracer>),
}

impl Deref for RunTracer {
    type Target = BoxedTracer;

    fn deref(&self) -> &BoxedTracer {
        match self {
            Self::Own(tracer) => tracer,
            Self::Shared(tracer) => tracer,
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
    builder: trace::SpanBuilder,
    parent: &Context,
) -> Option<global::BoxedSpan> {
    Some(tracer.build_with_context(builder, parent)).filter(Span::is_recording)
}

/// Gives a span error status: the name of the error, never its text.
pub(crate) fn fail(span: &mut impl Span, name: &'static str) {
    span.set_attribute(KeyValue::new(ERROR_TYPE, name));
    span.set_status(Status::error(name));
}

/// The same for the span of a context.
pub(crate) fn fail_active(span: &SpanRef<'_>, name: &'static str) {
    span.set_attribute(KeyValue::new(ERROR_TYPE, name));
    span.set_status(Status::error(name));
}
