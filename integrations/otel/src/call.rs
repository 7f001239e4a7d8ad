//! One call through a layer, until the wrapped service is called: the selection, gathering, and a span
//! for each source.

use std::sync::Arc;
use std::time::SystemTime;

use cupel::TraceCollector;
use cupel::gather::{GatherReport, SourceReport};
use cupel::layer::{CallObserver, CallStart, ContextError, Selection, SelectionHook};
use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{Span, SpanBuilder, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};

use crate::collector::Handover;
use crate::conversation::ConversationId;
use crate::run::count;
use crate::tracers::{Tracers, end, start};
use crate::{CupelOtel, CupelOtelTraceCollector, attributes, names};

/// A call under way.
#[derive(Debug)]
pub(crate) struct Call {
    hook: CupelOtel,
    called_at: SystemTime,
    /// Set while somebody records the call.
    tracer: Option<Arc<BoxedTracer>>,
    /// Holds the call's span if there is one, and the caller's otherwise.
    context: Context,
    /// The numbers of the pipeline's run, when it is over.
    run: Handover,
    ended: bool,
}

impl Call {
    /// Starts the span, in the caller's context; None when there is nobody to tell.
    pub(crate) fn begin(hook: &CupelOtel, call: &CallStart) -> Option<Self> {
        let (mut hook, called_at) = (hook.clone(), call.called_at);
        let (mut tracer, mut context) = (hook.tracers.tracer(), Context::current());
        match tracer.as_ref().and_then(|tracer| begin_span(tracer, call, &context)) {
            Some(own) => context = own,
            None => {
                hook.metrics.as_ref()?;
                // The pipeline's spans would have nothing to be in: there are none.
                hook.tracers = Tracers::Off;
                tracer = None;
            }
        }
        Some(Self { hook, called_at, tracer, context, run: Handover::default(), ended: false })
    }

    /// Writes what there is to say about the time until the model is asked.
    fn end(&mut self, gather: Option<&GatherReport>, error: Option<&'static str>) {
        self.ended = true;
        if let Some(metrics) = &self.hook.metrics {
            metrics.record_call(self.called_at.elapsed().unwrap_or_default(), error);
            gather.into_iter().for_each(|gather| metrics.record_gather(gather));
        }
        if let Some(tracer) = self.tracer.take() {
            let gathered = gather.and_then(|gather| self.write_gather(&tracer, gather));
            let gathered = gathered.unwrap_or(self.called_at);
            end(&self.context, error, SystemTime::now().max(gathered));
        }
    }

    /// Writes the spans of gathering, at the time it happened; answers when it ended.
    fn write_gather(&self, tracer: &BoxedTracer, gather: &GatherReport) -> Option<SystemTime> {
        // A source that was opened and never polled was not gathered from. A clock set back must not
        // let gathering begin before the call does.
        let began = gather.started_at?.max(self.called_at);
        let builder = SpanBuilder::from_name(names::GATHER_SPAN)
            .with_start_time(began)
            .with_attributes([KeyValue::new(attributes::SOURCES, count(gather.sources.len()))]);
        let context = self.context.with_span(tracer.build_with_context(builder, &self.context));
        gather.sources.iter().for_each(|source| write_source(tracer, source, began, &context));
        let ended = began.checked_add(gather.elapsed).unwrap_or(began);
        end(&context, None, ended);
        Some(ended)
    }
}

/// Starts the span of a call; None when nobody records it.
fn begin_span(tracer: &BoxedTracer, call: &CallStart, caller: &Context) -> Option<Context> {
    // Samplers may look at the model, so it is there from the beginning.
    let model = call.model.clone().map(|model| KeyValue::new(attributes::REQUEST_MODEL, model));
    let builder = SpanBuilder::from_name(names::SELECTION_SPAN)
        .with_start_time(call.called_at)
        .with_attributes(model);
    let mut span = start(tracer, builder, caller)?;
    if let Some(id) = ConversationId::of(caller) {
        span.set_attribute(KeyValue::new(attributes::CONVERSATION_ID, id));
    }
    Some(caller.with_span(span))
}

/// All sources are polled from the same moment on. The error's text stays out: it may quote what the
/// source was asked.
fn write_source(tracer: &BoxedTracer, source: &SourceReport, began: SystemTime, gather: &Context) {
    let outcome = source.outcome.name();
    let builder = SpanBuilder::from_name(names::SOURCE_SPAN).with_start_time(began);
    let builder = builder.with_attributes([
        KeyValue::new(attributes::OPERATION_NAME, "retrieval"),
        KeyValue::new(attributes::DATA_SOURCE_ID, source.name.clone()),
        KeyValue::new(attributes::SOURCE_NAME, source.name.clone()),
        KeyValue::new(attributes::SOURCE_ITEMS, count(source.items)),
        KeyValue::new(attributes::SOURCE_TOKENS, source.tokens),
        KeyValue::new(attributes::SOURCE_OUTCOME, outcome),
    ]);
    let context = gather.with_span(tracer.build_with_context(builder, gather));
    let ended = began.checked_add(source.elapsed).unwrap_or(began);
    end(&context, source.outcome.is_failure().then_some(outcome), ended);
}

/// A call that came to no end of its own was cut off: by a panic, or by whoever dropped it.
impl Drop for Call {
    fn drop(&mut self) {
        if !self.ended {
            let error = if std::thread::panicking() { "Panicked" } else { "Cancelled" };
            self.end(None, Some(error));
        }
    }
}

impl CallObserver for Call {
    fn collector(&mut self) -> Option<Box<dyn TraceCollector + Send>> {
        let (hook, context, run) = (self.hook.clone(), self.context.clone(), self.run.clone());
        Some(Box::new(CupelOtelTraceCollector::of_call(hook, context, run)))
    }

    fn on_selection(mut self: Box<Self>, selection: &Selection) {
        if let (Some(metrics), Some(run)) = (&self.hook.metrics, self.run.get()) {
            metrics.record_selection(selection, run);
        }
        if self.tracer.is_some() {
            let Selection { sent, fixed_tokens, budget, .. } = selection;
            let window = budget.max_tokens().saturating_add(*fixed_tokens);
            self.context.span().set_attributes([
                KeyValue::new(attributes::BUDGET_MAX_TOKENS, window),
                KeyValue::new(attributes::TOKENS_FIXED, *fixed_tokens),
                KeyValue::new(attributes::TOKENS_SENT, sent.tokens.saturating_add(*fixed_tokens)),
                KeyValue::new(attributes::ITEMS_INCLUDED, count(sent.items)),
                KeyValue::new(attributes::ITEMS_EXCLUDED, count(sent.left_out)),
            ]);
        }
        self.end(Some(&selection.gather), None);
    }

    fn on_failure(mut self: Box<Self>, error: &ContextError, gather: &GatherReport) {
        self.end(Some(gather), Some(error.name()));
    }
}

impl SelectionHook for CupelOtel {
    /// The collector hears everything a report would say.
    fn wants_selection(&self) -> bool {
        false
    }

    fn observe(&self, call: &CallStart) -> Option<Box<dyn CallObserver>> {
        Some(Box::new(Call::begin(self, call)?))
    }
}
