//! The spans of one run of the pipeline.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cupel::{ContextBudget, ContextKind, ExcludedItem, IncludedItem, PipelineStage, TraceEvent};
use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{Event, Span, SpanBuilder, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue, StringValue};

use crate::tracers::{end, start};
use crate::{CupelVerbosity, attributes, names};

/// A run that is being recorded.
#[derive(Debug)]
pub(crate) struct RunSpans {
    tracer: Arc<BoxedTracer>,
    /// Holds the root; parent of the stages.
    context: Context,
    verbosity: CupelVerbosity,
    /// The stage under way: its items and its beginning, for a span if the run fails in it.
    open: Option<(PipelineStage, usize, SystemTime)>,
    /// Exclusions of the stage under way.
    excluded: i64,
    exclusions: Vec<Event>,
    inclusions: Vec<Vec<KeyValue>>,
    /// A clock set back must not let the root end before it began or before its stages do.
    last_end: SystemTime,
    ended: bool,
}

impl RunSpans {
    /// Starts the root; None when nobody records it.
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
            // The root has just begun. Its own time would cost runs that nobody records a clock.
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
                KeyValue::new(attributes::EXCLUSION_ITEM_KIND, kind(item.kind())),
                KeyValue::new(attributes::EXCLUSION_ITEM_TOKENS, item.tokens()),
            ];
            let event = Event::new(names::EXCLUSION_EVENT, SystemTime::now(), attributes, 0);
            self.exclusions.push(event);
        }
    }

    pub(crate) fn include(&mut self, included: &IncludedItem) {
        if self.verbosity >= CupelVerbosity::Full {
            self.inclusions.push(vec![
                KeyValue::new(attributes::ITEM_KIND, kind(included.item.kind())),
                KeyValue::new(attributes::ITEM_TOKENS, included.item.tokens()),
                KeyValue::new(attributes::ITEM_SCORE, included.score),
            ]);
        }
    }

    /// Writes the span of a stage that has completed, at the time it ran.
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
        // The specification has them recorded after the last stage, so none is earlier.
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

    /// Ends the root, and a stage that did not come to its own end.
    pub(crate) fn end(&mut self, error: Option<&'static str>) {
        let now = SystemTime::now();
        if let Some((stage, items_in, began)) = self.open.take() {
            self.write_stage(&stage, (items_in, None), (began, now.max(began)), error);
        }
        end(&self.context, error, now.max(self.last_end));
        self.ended = true;
    }
}

/// A run that panicked ends here, with the stage it panicked in.
impl Drop for RunSpans {
    fn drop(&mut self) {
        if !self.ended {
            self.end(Some("Panicked"));
        }
    }
}

/// Counts go out as `int`.
pub(crate) fn count(items: usize) -> i64 {
    i64::try_from(items).unwrap_or(i64::MAX)
}

/// A kind as it may leave, without a copy for those that the library knows.
fn kind(kind: &ContextKind) -> StringValue {
    match kind.label() {
        "Message" => "Message".into(),
        "Document" => "Document".into(),
        "ToolOutput" => "ToolOutput".into(),
        "Memory" => "Memory".into(),
        "SystemPrompt" => "SystemPrompt".into(),
        other => other.to_owned().into(),
    }
}

/// The name of a stage's span, and the stage's own; None for stages of other implementations.
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
