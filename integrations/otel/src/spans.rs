//! Spans: their verbosity, their conversation, the tracer that records them, and those of one pipeline run.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cupel::ContextBudget;
use cupel::diagnostics::{ExcludedItem, IncludedItem, PipelineStage, TraceEvent};
use opentelemetry::baggage::BaggageExt;
use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::trace::{
    Event, Span, SpanBuilder, Status, TraceContextExt, Tracer, TracerProvider,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue, StringValue};

use crate::{attributes, names};

/// Detail of the spans of a run. Each tier includes the ones before it.
///
/// ```
/// use cupel_otel::CupelVerbosity;
///
/// assert!(CupelVerbosity::StageOnly < CupelVerbosity::Full);
/// assert_eq!(CupelVerbosity::StageAndExclusions.name(), "StageAndExclusions");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum CupelVerbosity {
    /// Spans with counts, for production.
    #[default]
    StageOnly,
    /// Also an event for every item that was dropped, for staging.
    StageAndExclusions,
    /// Also an event for every item that was selected, for development.
    Full,
}

impl CupelVerbosity {
    /// Returns the name of the tier, as it is exported.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StageOnly => "StageOnly",
            Self::StageAndExclusions => "StageAndExclusions",
            Self::Full => "Full",
        }
    }
}

impl fmt::Display for CupelVerbosity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Conversation of a selection, as a value of the caller's [`Context`].
///
/// It becomes the attribute `gen_ai.conversation.id` of the topmost span. Without this value, baggage of that
/// name is used; but baggage also leaves the process in the headers of outgoing calls.
///
/// ```
/// use cupel_otel::ConversationId;
/// use opentelemetry::Context;
///
/// let context = Context::current_with_value(ConversationId::new("conversation-7"));
/// let _attached = context.attach(); // or `future.with_context(context)` around async code
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConversationId(StringValue);

impl ConversationId {
    /// Names a conversation.
    #[must_use]
    pub fn new(id: impl Into<StringValue>) -> Self {
        Self(id.into())
    }

    /// Returns the conversation of a context.
    pub(crate) fn of(context: &Context) -> Option<StringValue> {
        let value = context.get::<Self>().map(|id| id.0.clone());
        value.or_else(|| context.baggage().get(attributes::CONVERSATION_ID).cloned())
    }
}

/// Tracer of the spans.
#[derive(Debug, Clone, Default)]
pub(crate) enum SpanTracer {
    /// The global one, looked up for every run, so that the order of the setup does not matter.
    #[default]
    Global,
    Given(Arc<BoxedTracer>),
    /// None: the call is not recorded.
    Off,
}

impl SpanTracer {
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

/// Returns the instrumentation scope.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder(names::SCOPE).with_version(env!("CARGO_PKG_VERSION")).build()
}

/// Starts a span; `None` if it is not recorded.
pub(crate) fn start(
    tracer: &BoxedTracer,
    builder: SpanBuilder,
    parent: &Context,
) -> Option<global::BoxedSpan> {
    Some(tracer.build_with_context(builder, parent)).filter(Span::is_recording)
}

/// Ends the span of a context. An error is recorded by its name, never by its text.
pub(crate) fn end(context: &Context, error: Option<&'static str>, ended: SystemTime) {
    let span = context.span();
    if let Some(name) = error {
        span.set_attribute(KeyValue::new(attributes::ERROR_TYPE, name));
        span.set_status(Status::error(name));
    }
    span.end_with_timestamp(ended);
}

/// Spans of a pipeline run that is recorded.
#[derive(Debug)]
pub(crate) struct RunSpans {
    tracer: Arc<BoxedTracer>,
    /// Holds the root span, the parent of the stages.
    context: Context,
    verbosity: CupelVerbosity,
    /// Current stage with its items and its start, for its span if the run fails.
    open: Option<(PipelineStage, usize, SystemTime)>,
    /// Exclusions of the current stage.
    excluded: i64,
    exclusions: Vec<Event>,
    inclusions: Vec<Vec<KeyValue>>,
    /// Latest end of a stage: if the clock is set back, the root must not end before it.
    last_end: SystemTime,
    ended: bool,
}

impl RunSpans {
    /// Starts the root span; `None` if it is not recorded.
    pub(crate) fn begin(
        tracer: Arc<BoxedTracer>,
        parent: &Context,
        verbosity: CupelVerbosity,
        budget: &ContextBudget,
    ) -> Option<Self> {
        let mut root = start(&tracer, SpanBuilder::from_name(names::PIPELINE_SPAN), parent)?;
        root.set_attribute(KeyValue::new(attributes::BUDGET_MAX_TOKENS, budget.max_tokens()));
        root.set_attribute(KeyValue::new(attributes::VERBOSITY, verbosity.name()));
        Some(Self {
            tracer,
            context: parent.with_span(root),
            verbosity,
            open: None,
            excluded: 0,
            exclusions: Vec::new(),
            inclusions: Vec::new(),
            // The root has just started. Its own start time is not known, so that runs which are not
            // recorded need no clock.
            last_end: SystemTime::now(),
            ended: false,
        })
    }

    pub(crate) fn set_conversation(&self, id: StringValue) {
        let span = self.context.span();
        span.set_attribute(KeyValue::new(attributes::CONVERSATION_ID, id));
    }

    pub(crate) fn begin_stage(&mut self, stage: &PipelineStage, items_in: usize) {
        self.open = Some((stage.clone(), items_in, SystemTime::now()));
    }

    pub(crate) fn exclude(&mut self, excluded: &ExcludedItem) {
        self.excluded += 1;
        if self.verbosity >= CupelVerbosity::StageAndExclusions {
            let item = &excluded.item;
            let attributes = vec![
                KeyValue::new(attributes::EXCLUSION_REASON, excluded.reason.label()),
                KeyValue::new(attributes::EXCLUSION_ITEM_KIND, item.kind().label().to_owned()),
                KeyValue::new(attributes::EXCLUSION_ITEM_TOKENS, item.tokens()),
            ];
            let event = Event::new(names::EXCLUSION_EVENT, SystemTime::now(), attributes, 0);
            self.exclusions.push(event);
        }
    }

    pub(crate) fn include(&mut self, included: &IncludedItem) {
        if self.verbosity >= CupelVerbosity::Full {
            self.inclusions.push(vec![
                KeyValue::new(attributes::ITEM_KIND, included.item.kind().label().to_owned()),
                KeyValue::new(attributes::ITEM_TOKENS, included.item.tokens()),
                KeyValue::new(attributes::ITEM_SCORE, included.score),
            ]);
        }
    }

    /// Writes the span of a completed stage.
    pub(crate) fn end_stage(&mut self, event: &TraceEvent) {
        let took = Duration::try_from_secs_f64(event.duration_ms / 1_000.0).unwrap_or_default();
        let began = event.started_at.or(self.open.take().map(|(_, _, began)| began));
        let began = began.unwrap_or_else(SystemTime::now);
        let ended = began.checked_add(took).unwrap_or(began);
        self.open = None;
        let items_out = event.item_count_out;
        self.write_stage(&event.stage, (event.item_count, items_out), (began, ended), None);
    }

    fn write_stage(
        &mut self,
        stage: &PipelineStage,
        (items_in, items_out): (usize, Option<usize>),
        (began, ended): (SystemTime, SystemTime),
        error: Option<&'static str>,
    ) {
        let mut events = std::mem::take(&mut self.exclusions);
        let excluded = std::mem::take(&mut self.excluded);
        let inclusions = std::mem::take(&mut self.inclusions);
        // The specification records them after the last stage.
        let inclusions = inclusions.into_iter();
        events.extend(inclusions.map(|item| Event::new(names::INCLUDED_EVENT, ended, item, 0)));
        let Some((span_name, name)) = stage_names(stage) else { return };
        let mut attributes = vec![
            KeyValue::new(attributes::STAGE_NAME, name),
            KeyValue::new(attributes::STAGE_ITEM_COUNT_IN, count(items_in)),
        ];
        let items_out = items_out.map(count);
        attributes.extend(items_out.map(|n| KeyValue::new(attributes::STAGE_ITEM_COUNT_OUT, n)));
        if self.verbosity >= CupelVerbosity::StageAndExclusions {
            attributes.push(KeyValue::new(attributes::EXCLUSION_COUNT, excluded));
        }
        let builder = SpanBuilder::from_name(span_name)
            .with_start_time(began)
            .with_attributes(attributes)
            .with_events(events);
        let span = self.tracer.build_with_context(builder, &self.context);
        end(&self.context.with_span(span), error, ended);
        self.last_end = self.last_end.max(ended);
    }

    /// Ends the root span, and a stage that did not complete.
    pub(crate) fn end(&mut self, error: Option<&'static str>) {
        let now = SystemTime::now();
        if let Some((stage, items_in, began)) = self.open.take() {
            self.write_stage(&stage, (items_in, None), (began, now.max(began)), error);
        }
        end(&self.context, error, now.max(self.last_end));
        self.ended = true;
    }
}

/// Ends a run that panicked, with the stage in which it did.
impl Drop for RunSpans {
    fn drop(&mut self) {
        if !self.ended {
            self.end(Some("Panicked"));
        }
    }
}

/// Converts a count to the type of attributes.
pub(crate) fn count(items: usize) -> i64 {
    i64::try_from(items).unwrap_or(i64::MAX)
}

/// Returns the names of a stage's span and of the stage; `None` for stages of other implementations.
fn stage_names(stage: &PipelineStage) -> Option<(&'static str, &'static str)> {
    match stage {
        PipelineStage::Classify => Some(("cupel.stage.classify", "classify")),
        PipelineStage::Score => Some(("cupel.stage.score", "score")),
        PipelineStage::Deduplicate => Some(("cupel.stage.deduplicate", "deduplicate")),
        PipelineStage::Slice => Some(("cupel.stage.slice", "slice")),
        PipelineStage::Place => Some(("cupel.stage.place", "place")),
        _ => None,
    }
}
