//! One call through a layer, until the wrapped service is called.

use std::time::SystemTime;

use cupel::TraceCollector;
use cupel::gather::{GatherReport, SourceReport};
use cupel::layer::{CallObserver, ContextError, Selection};
use opentelemetry::trace::{Span, SpanBuilder, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};

use crate::conversation::ConversationId;
use crate::run::count;
use crate::tracers::{RunTracer, Tracers, start};
use crate::{CupelOtel, CupelOtelTraceCollector, CupelVerbosity, attributes, label, names};

/// A call under way.
#[derive(Debug)]
pub(crate) struct Call {
    hook: CupelOtel,
    /// Set while somebody records the call.
    spans: Option<CallSpans>,
    /// Holds the call's span if there is one, and the caller's otherwise.
    context: Context,
}

#[derive(Debug)]
struct CallSpans {
    tracer: RunTracer,
    /// When the call was polled first, and gathering began.
    polled_at: SystemTime,
}

impl Call {
    /// Starts the span, in the caller's context; None when there is nobody to tell.
    pub(crate) fn begin(hook: &CupelOtel, called_at: SystemTime) -> Option<Self> {
        let caller = Context::current();
        let Some((spans, context)) = CallSpans::begin(hook, called_at, &caller) else {
            hook.metrics.as_ref()?;
            // The pipeline's spans would have nothing to be in: there are none.
            let hook = CupelOtel { tracers: Tracers::Off, ..hook.clone() };
            return Some(Self { hook, spans: None, context: caller });
        };
        Some(Self { hook: hook.clone(), spans: Some(spans), context })
    }

    /// Writes what is known when gathering and selecting are over.
    fn end(&mut self, gather: &GatherReport, error: Option<&'static str>) {
        if let Some(metrics) = &self.hook.metrics {
            metrics.record_gather(gather);
        }
        if let Some(spans) = self.spans.take() {
            let gathered = spans.write_gather(gather, &self.context);
            self.end_span(gathered, error);
        }
    }

    /// Ends the call's span, not before `earliest`.
    fn end_span(&self, earliest: SystemTime, error: Option<&'static str>) {
        let span = self.context.span();
        if let Some(name) = error {
            span.set_attribute(KeyValue::new(attributes::ERROR_TYPE, name));
            span.set_status(Status::error(name));
        }
        span.end_with_timestamp(SystemTime::now().max(earliest));
    }
}

/// A call that came to no end of its own was cut off: by a panic, or by whoever dropped it.
impl Drop for Call {
    fn drop(&mut self) {
        if let Some(spans) = self.spans.take() {
            let error = if std::thread::panicking() { "Panicked" } else { "Cancelled" };
            self.end_span(spans.polled_at, Some(error));
        }
    }
}

impl CallObserver for Call {
    fn collector(&mut self) -> Option<Box<dyn TraceCollector + Send>> {
        let CupelOtel { verbosity, tracers, metrics } = self.hook.clone();
        let context = self.context.clone();
        Some(Box::new(CupelOtelTraceCollector::of_call(verbosity, tracers, metrics, context)))
    }

    fn on_selection(mut self: Box<Self>, selection: &Selection) {
        if let Some(metrics) = &self.hook.metrics {
            metrics.record_refused(selection.refused);
        }
        if let Some(stream) = &selection.stream {
            let dropped = &stream.dropped;
            if let Some(metrics) = &self.hook.metrics {
                metrics.record_dropped(dropped);
            }
            if self.hook.verbosity >= CupelVerbosity::StageAndExclusions && self.spans.is_some() {
                let all = dropped.over_budget + dropped.duplicates + dropped.negative_tokens;
                let all = KeyValue::new(attributes::EXCLUSION_COUNT, count(all));
                self.context.span().set_attribute(all);
            }
        }
        self.end(&selection.gather, None);
    }

    fn on_failure(mut self: Box<Self>, error: &ContextError, gather: &GatherReport) {
        self.end(gather, Some(label::call_error(error)));
    }
}

impl CallSpans {
    /// Starts the call's span; None when nobody records it.
    fn begin(hook: &CupelOtel, called_at: SystemTime, caller: &Context) -> Option<(Self, Context)> {
        let tracer = hook.tracers.tracer()?;
        let builder = SpanBuilder::from_name(names::SELECTION_SPAN).with_start_time(called_at);
        let mut span = start(&tracer, builder, caller)?;
        if let Some(id) = ConversationId::of(caller) {
            span.set_attribute(KeyValue::new(attributes::CONVERSATION_ID, id));
        }
        // A clock set back must not let gathering begin before the call does.
        let polled_at = SystemTime::now().max(called_at);
        Some((Self { tracer, polled_at }, caller.with_span(span)))
    }

    /// Writes the spans of gathering, at the time it happened; answers when it ended.
    fn write_gather(&self, gather: &GatherReport, parent: &Context) -> SystemTime {
        if gather.sources.is_empty() {
            return self.polled_at;
        }
        let builder = SpanBuilder::from_name(names::GATHER_SPAN)
            .with_start_time(self.polled_at)
            .with_attributes([KeyValue::new(attributes::SOURCES, count(gather.sources.len()))]);
        let context = parent.with_span(self.tracer.build_with_context(builder, parent));
        gather.sources.iter().for_each(|source| self.write_source(source, &context));
        let ended = self.polled_at.checked_add(gather.elapsed).unwrap_or(self.polled_at);
        context.span().end_with_timestamp(ended);
        ended
    }

    /// All sources are polled from the same moment on. The error's text stays out: it may quote
    /// what the source was asked.
    fn write_source(&self, source: &SourceReport, gather: &Context) {
        let attributes = [
            KeyValue::new(attributes::SOURCE_NAME, source.name.clone()),
            KeyValue::new(attributes::SOURCE_ITEMS, count(source.items)),
            KeyValue::new(attributes::SOURCE_TOKENS, source.tokens),
            KeyValue::new(attributes::SOURCE_OUTCOME, source.outcome.name()),
        ];
        let builder = SpanBuilder::from_name(names::SOURCE_SPAN)
            .with_start_time(self.polled_at)
            .with_attributes(attributes);
        let mut span = self.tracer.build_with_context(builder, gather);
        if source.outcome.is_failure() {
            span.set_status(Status::error(source.outcome.name()));
        }
        span.end_with_timestamp(
            self.polled_at.checked_add(source.elapsed).unwrap_or(self.polled_at),
        );
    }
}
