//! The hook for layers, the collector for pipelines, and the call that a hook observes.

use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime};

use cupel::diagnostics::{
    ExcludedItem, IncludedItem, PipelineStage, TraceCollector, TraceDetailLevel, TraceEvent,
};
use cupel::gather::{GatherReport, JudgeReport, SourceReport};
use cupel::layer::{CallObserver, CallStart, ContextError, Selection, SelectionHook};
use cupel::{ContextBudget, CupelError};
use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{Span, SpanBuilder, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};

use crate::metrics::{CupelMetrics, RunNumbers, record_duration};
use crate::spans::{ConversationId, CupelVerbosity, RunSpans, SpanTracer, count, end, start};
use crate::{attributes, names};

/// Hook that records every call through a layer.
///
/// A call becomes the span `cupel.selection`, a child of the span that is active where the call is
/// first polled. Inside are `cupel.gather` (with a `cupel.source` for each source) and `cupel.pipeline` (with a
/// `cupel.stage.{name}` for each stage). The span starts when the layer is called and ends before the wrapped
/// service is called, so the model's own span is its sibling.
///
/// ```
/// use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
/// use cupel::{ContextBudget, Policy};
/// use cupel_otel::{CupelMetrics, CupelOtel, CupelVerbosity};
///
/// let layer = CupelLayer::<ContextRequest<()>, _>::builder()
///     .adapter(ContextRequestAdapter)
///     .policy(Policy::rag())
///     .budget(ContextBudget::builder(8_192).build()?)
///     .hook(CupelOtel::new(CupelVerbosity::StageOnly).metrics(CupelMetrics::global()))
///     .build()?;
/// # let _ = layer;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct CupelOtel {
    verbosity: CupelVerbosity,
    tracer: SpanTracer,
    metrics: Option<CupelMetrics>,
}

impl CupelOtel {
    /// Makes a hook for the global tracer provider, under the scope `cupel`.
    #[must_use]
    pub fn new(verbosity: CupelVerbosity) -> Self {
        Self { verbosity, tracer: SpanTracer::default(), metrics: None }
    }

    /// Records metrics, too. Every item is then counted, even if no meter provider is set.
    #[must_use]
    pub fn metrics(mut self, metrics: CupelMetrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Sends spans to this provider instead of the global one.
    #[must_use]
    pub fn tracer_provider<P>(mut self, provider: &P) -> Self
    where
        P: TracerProvider,
        P::Tracer: Tracer + Send + Sync + 'static,
        <P::Tracer as Tracer>::Span: Span + Send + Sync + 'static,
    {
        self.tracer = SpanTracer::of(provider);
        self
    }
}

/// Records a run of the pipeline as spans: `cupel.pipeline`, and `cupel.stage.{name}` for each stage.
///
/// The parent is the span that is active where the run begins. If none is, for instance on another thread, it
/// is the one that was active where the collector was made. If the trace is not recorded, the pipeline runs as
/// if there were no collector.
///
/// ```
/// use cupel::{ContextBudget, ContextItem, Policy};
/// use cupel_otel::{CupelOtelTraceCollector, CupelVerbosity};
///
/// let pipeline = Policy::chat().to_pipeline();
/// let items = [ContextItem::new("hello", 2)?];
/// let mut collector = CupelOtelTraceCollector::new(CupelVerbosity::StageOnly);
/// pipeline.run_traced(&items, &ContextBudget::builder(10).build()?, &mut collector)?;
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug)]
pub struct CupelOtelTraceCollector {
    settings: CupelOtel,
    parent: SpanParent,
    spans: Option<RunSpans>,
    /// Numbers for metrics, and the start of the run.
    numbers: Option<(RunNumbers, Instant)>,
    /// Set if neither spans nor metrics record this run.
    unwatched: bool,
}

/// Parent of the spans of a run.
#[derive(Debug)]
enum SpanParent {
    /// The context where the run begins or, if no span is active there, where the collector was made.
    Active(Context),
    /// A fixed context.
    Given(Context),
    /// The context of a call, whose span has the conversation. The call gets the numbers, because it knows
    /// what is sent.
    Call(Context, SharedNumbers),
}

/// Numbers of a run, for its call.
type SharedNumbers = Arc<OnceLock<RunNumbers>>;

impl CupelOtelTraceCollector {
    /// Makes a collector for the global tracer provider, under the scope `cupel`.
    #[must_use]
    pub fn new(verbosity: CupelVerbosity) -> Self {
        Self::with(CupelOtel::new(verbosity), SpanParent::Active(Context::current()))
    }

    fn with(settings: CupelOtel, parent: SpanParent) -> Self {
        Self { settings, parent, spans: None, numbers: None, unwatched: false }
    }

    /// Makes the spans children of this context's span, whatever is active.
    #[must_use]
    pub fn parent(mut self, context: Context) -> Self {
        self.parent = SpanParent::Given(context);
        self
    }

    /// Records metrics, too, even of a run whose spans are not recorded.
    #[must_use]
    pub fn metrics(mut self, metrics: CupelMetrics) -> Self {
        self.settings = self.settings.metrics(metrics);
        self
    }

    /// Sends spans to this provider instead of the global one.
    #[must_use]
    pub fn tracer_provider<P>(mut self, provider: &P) -> Self
    where
        P: TracerProvider,
        P::Tracer: Tracer + Send + Sync + 'static,
        <P::Tracer as Tracer>::Span: Span + Send + Sync + 'static,
    {
        self.settings = self.settings.tracer_provider(provider);
        self
    }

    fn begin_spans(&self, budget: &ContextBudget) -> Option<RunSpans> {
        let CupelOtel { tracer, verbosity, .. } = &self.settings;
        let begin =
            |parent: &Context| RunSpans::begin(tracer.tracer()?, parent, *verbosity, budget);
        // The conversation is looked up only if there is a span for it.
        let (spans, conversation) = match &self.parent {
            SpanParent::Call(context, _) => return begin(context),
            SpanParent::Given(context) => (begin(context)?, ConversationId::of(context)),
            SpanParent::Active(made) => {
                let current = Context::current();
                let spans = begin(if current.has_active_span() { &current } else { made })?;
                let conversation = ConversationId::of(&current);
                (spans, conversation.or_else(|| ConversationId::of(made)))
            }
        };
        if let Some(id) = conversation {
            spans.set_conversation(id);
        }
        Some(spans)
    }
}

impl TraceCollector for CupelOtelTraceCollector {
    fn is_enabled(&self) -> bool {
        !self.unwatched
    }

    fn detail_level(&self) -> TraceDetailLevel {
        TraceDetailLevel::Stage
    }

    /// Items are needed for events and for metrics.
    fn wants_items(&self) -> bool {
        self.settings.verbosity > CupelVerbosity::StageOnly || self.settings.metrics.is_some()
    }

    fn begin_run(&mut self, _candidates: usize, budget: &ContextBudget) {
        let measured = self.settings.metrics.is_some();
        self.numbers = measured.then(|| (RunNumbers::new(budget), Instant::now()));
        self.spans = self.begin_spans(budget);
        self.unwatched = self.numbers.is_none() && self.spans.is_none();
    }

    fn begin_stage(&mut self, stage: &PipelineStage, items_in: usize) {
        if let Some(spans) = &mut self.spans {
            spans.begin_stage(stage, items_in);
        }
    }

    fn record_stage_event(&mut self, event: TraceEvent) {
        if let Some(spans) = &mut self.spans {
            spans.end_stage(&event);
        }
    }

    fn record_item_event(&mut self, _event: TraceEvent) {}

    fn record_included(&mut self, included: IncludedItem) {
        if let Some((numbers, _)) = &mut self.numbers {
            numbers.include(included.item.tokens());
        }
        if let Some(spans) = &mut self.spans {
            spans.include(&included);
        }
    }

    fn record_excluded(&mut self, _stage: &PipelineStage, excluded: ExcludedItem) {
        if let Some((numbers, _)) = &mut self.numbers {
            numbers.exclude(&excluded.reason);
        }
        if let Some(spans) = &mut self.spans {
            spans.exclude(&excluded);
        }
    }

    fn end_run(&mut self, outcome: Result<(), &CupelError>) {
        self.unwatched = false;
        let error = outcome.err().map(CupelError::name);
        if let Some(mut spans) = self.spans.take() {
            spans.end(error);
        }
        let numbers = self.numbers.take().zip(self.settings.metrics.as_ref());
        let Some(((numbers, began), metrics)) = numbers else { return };
        record_duration(&metrics.pipeline_duration, began.elapsed(), error);
        match &self.parent {
            // A failed run has selected nothing.
            _ if error.is_some() => {}
            SpanParent::Call(_, shared) => drop(shared.set(numbers)),
            SpanParent::Active(_) | SpanParent::Given(_) => numbers.record(metrics),
        }
    }
}

/// Call through a layer, until the wrapped service is called.
#[derive(Debug)]
struct ObservedCall {
    hook: CupelOtel,
    called_at: SystemTime,
    /// Set while the call is recorded.
    tracer: Option<Arc<BoxedTracer>>,
    /// Holds the span of the call if there is one, otherwise the caller's.
    context: Context,
    /// Numbers of the pipeline run, once it is over.
    run: SharedNumbers,
    ended: bool,
}

impl ObservedCall {
    /// Starts the span in the caller's context; `None` if nothing is recorded.
    fn begin(hook: &CupelOtel, call: &CallStart) -> Option<Self> {
        let (mut hook, called_at) = (hook.clone(), call.called_at);
        let (mut tracer, mut context) = (hook.tracer.tracer(), Context::current());
        match tracer.as_ref().and_then(|tracer| begin_span(tracer, call, &context)) {
            Some(own) => context = own,
            None => {
                hook.metrics.as_ref()?;
                // Without this span there are no spans of the pipeline, either.
                hook.tracer = SpanTracer::Off;
                tracer = None;
            }
        }
        Some(Self { hook, called_at, tracer, context, run: SharedNumbers::default(), ended: false })
    }

    /// Records the end of the selection.
    fn end(&mut self, gather: Option<&GatherReport>, error: Option<&'static str>) {
        self.ended = true;
        if let Some(metrics) = &self.hook.metrics {
            let took = self.called_at.elapsed().unwrap_or_default();
            record_duration(&metrics.selection_duration, took, error);
            gather.into_iter().for_each(|gather| metrics.record_gather(gather));
        }
        if let Some(tracer) = self.tracer.take() {
            let gathered = gather.and_then(|gather| self.write_gather(&tracer, gather));
            let judged =
                gather.and_then(|gather| self.write_judge(&tracer, gather.judge.as_ref()?));
            let gathered = gathered.max(judged).unwrap_or(self.called_at);
            end(&self.context, error, SystemTime::now().max(gathered));
        }
    }

    /// Writes the spans of gathering. Returns the time at which it ended.
    fn write_gather(&self, tracer: &BoxedTracer, gather: &GatherReport) -> Option<SystemTime> {
        // Sources that were never polled have no start. If the clock is set back, gathering must not start
        // before the call.
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

    /// Writes the span of an async judge, which runs beside the sources. Returns the time at which it ended.
    fn write_judge(&self, tracer: &BoxedTracer, judge: &JudgeReport) -> Option<SystemTime> {
        let began = judge.started_at?.max(self.called_at);
        let outcome = judge.outcome.name();
        let builder = SpanBuilder::from_name(names::JUDGE_SPAN).with_start_time(began);
        let builder = builder.with_attributes([
            KeyValue::new(attributes::JUDGE_NAME, judge.name.clone()),
            KeyValue::new(attributes::JUDGE_TEXTS, count(judge.texts)),
            KeyValue::new(attributes::JUDGE_JUDGED, count(judge.judged)),
            KeyValue::new(attributes::JUDGE_REQUESTS, count(judge.requests)),
            KeyValue::new(attributes::JUDGE_CACHED, count(judge.cached)),
            KeyValue::new(attributes::JUDGE_REUSED, judge.reused),
            KeyValue::new(attributes::JUDGE_OUTCOME, outcome),
        ]);
        let context = self.context.with_span(tracer.build_with_context(builder, &self.context));
        let ended = began.checked_add(judge.elapsed).unwrap_or(began);
        end(&context, judge.outcome.is_failure().then_some(outcome), ended);
        Some(ended)
    }
}

/// Starts the span of a call; `None` if it is not recorded.
fn begin_span(tracer: &BoxedTracer, call: &CallStart, caller: &Context) -> Option<Context> {
    // Samplers may look at the model, so the span has it from its start.
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

/// Writes the span of a source. All sources start at the same time. The text of an error may quote the
/// question, so only its name is written.
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

/// Records a call that was cut off by a panic or dropped.
impl Drop for ObservedCall {
    fn drop(&mut self) {
        if !self.ended {
            let error = if std::thread::panicking() { "Panicked" } else { "Cancelled" };
            self.end(None, Some(error));
        }
    }
}

impl CallObserver for ObservedCall {
    fn collector(&mut self) -> Option<Box<dyn TraceCollector + Send>> {
        let parent = SpanParent::Call(self.context.clone(), self.run.clone());
        Some(Box::new(CupelOtelTraceCollector::with(self.hook.clone(), parent)))
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
            if selection.is_compacted() {
                let compacted = KeyValue::new(attributes::CONVERSATION_COMPACTED, true);
                self.context.span().set_attribute(compacted);
            }
        }
        self.end(Some(&selection.gather), None);
    }

    fn on_failure(mut self: Box<Self>, error: &ContextError, gather: &GatherReport) {
        self.end(Some(gather), Some(error.name()));
    }
}

impl SelectionHook for CupelOtel {
    /// The collector gets everything that a report would have.
    fn wants_selection(&self) -> bool {
        false
    }

    fn observe(&self, call: &CallStart) -> Option<Box<dyn CallObserver>> {
        Some(Box::new(ObservedCall::begin(self, call)?))
    }
}
