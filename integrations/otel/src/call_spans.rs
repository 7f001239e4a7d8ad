//! The spans of one call: the selection, gathering, and a span for each source.

use std::time::SystemTime;

use cupel::gather::{GatherReport, SourceReport};
use cupel::layer::{CallStart, Selection};
use opentelemetry::trace::{Span, SpanBuilder, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};

use crate::conversation::ConversationId;
use crate::run::count;
use crate::tracers::{RunTracer, fail, fail_active, start};
use crate::{CupelOtel, attributes, names};

/// The spans of a call that somebody records.
#[derive(Debug)]
pub(crate) struct CallSpans {
    tracer: RunTracer,
    called_at: SystemTime,
}

impl CallSpans {
    /// Starts the call's span; None when nobody records it.
    pub(crate) fn begin(
        hook: &CupelOtel,
        call: &CallStart,
        caller: &Context,
    ) -> Option<(Self, Context)> {
        let tracer = hook.tracers.tracer()?;
        let mut builder =
            SpanBuilder::from_name(names::SELECTION_SPAN).with_start_time(call.called_at);
        if let Some(model) = &call.model {
            // Samplers may look at it, so it is there from the beginning.
            let model = KeyValue::new(attributes::REQUEST_MODEL, model.clone());
            builder = builder.with_attributes([model]);
        }
        let mut span = start(&tracer, builder, caller)?;
        if let Some(id) = ConversationId::of(caller) {
            span.set_attribute(KeyValue::new(attributes::CONVERSATION_ID, id));
        }
        Some((Self { tracer, called_at: call.called_at }, caller.with_span(span)))
    }

    /// Says on the call's span what is sent.
    pub(crate) fn write_selection(&self, selection: &Selection, context: &Context) {
        let Selection { sent, fixed_tokens, budget, .. } = selection;
        let window = budget.max_tokens().saturating_add(*fixed_tokens);
        context.span().set_attributes([
            KeyValue::new(attributes::BUDGET_MAX_TOKENS, window),
            KeyValue::new(attributes::TOKENS_FIXED, *fixed_tokens),
            KeyValue::new(attributes::TOKENS_SENT, sent.tokens.saturating_add(*fixed_tokens)),
            KeyValue::new(attributes::ITEMS_INCLUDED, count(sent.items)),
            KeyValue::new(attributes::ITEMS_EXCLUDED, count(sent.left_out)),
        ]);
    }

    /// Writes the spans of gathering and ends the call's.
    pub(crate) fn end(
        self,
        context: &Context,
        gather: Option<&GatherReport>,
        error: Option<&'static str>,
    ) {
        let gathered = gather.map_or(self.called_at, |gather| self.write_gather(gather, context));
        let span = context.span();
        if let Some(name) = error {
            fail_active(&span, name);
        }
        span.end_with_timestamp(SystemTime::now().max(gathered));
    }

    /// Writes the spans of gathering, at the time it happened; answers when it ended.
    fn write_gather(&self, gather: &GatherReport, parent: &Context) -> SystemTime {
        // A source that was opened and never polled was not gathered from.
        let Some(began) = gather.started_at else { return self.called_at };
        // A clock set back must not let gathering begin before the call does.
        let began = began.max(self.called_at);
        let builder = SpanBuilder::from_name(names::GATHER_SPAN)
            .with_start_time(began)
            .with_attributes([KeyValue::new(attributes::SOURCES, count(gather.sources.len()))]);
        let context = parent.with_span(self.tracer.build_with_context(builder, parent));
        gather.sources.iter().for_each(|source| self.write_source(source, began, &context));
        let ended = began.checked_add(gather.elapsed).unwrap_or(began);
        context.span().end_with_timestamp(ended);
        ended
    }

    /// All sources are polled from the same moment on. The error's text stays out: it may quote
    /// what the source was asked.
    fn write_source(&self, source: &SourceReport, began: SystemTime, gather: &Context) {
        let attributes = [
            KeyValue::new(attributes::OPERATION_NAME, "retrieval"),
            KeyValue::new(attributes::DATA_SOURCE_ID, source.name.clone()),
            KeyValue::new(attributes::SOURCE_NAME, source.name.clone()),
            KeyValue::new(attributes::SOURCE_ITEMS, count(source.items)),
            KeyValue::new(attributes::SOURCE_TOKENS, source.tokens),
            KeyValue::new(attributes::SOURCE_OUTCOME, source.outcome.name()),
        ];
        let builder = SpanBuilder::from_name(names::SOURCE_SPAN)
            .with_start_time(began)
            .with_attributes(attributes);
        let mut span = self.tracer.build_with_context(builder, gather);
        if source.outcome.is_failure() {
            fail(&mut span, source.outcome.name());
        }
        span.end_with_timestamp(began.checked_add(source.elapsed).unwrap_or(began));
    }
}
