//! The collector: one run of the pipeline as a tree of spans.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use cupel::{
    ContextBudget, CupelError, ExcludedItem, IncludedItem, PipelineStage, TraceCollector,
    TraceDetailLevel, TraceEvent,
};
use opentelemetry::Context;
use opentelemetry::trace::{Span, TraceContextExt, Tracer, TracerProvider};

use crate::conversation::ConversationId;
use crate::metrics::Tally;
use crate::run::RunSpans;
use crate::tracers::Tracers;
use crate::{CupelMetrics, CupelVerbosity};

/// Writes a run of the pipeline as spans: `cupel.pipeline` and one `cupel.stage.{name}` a stage.
///
/// The parent is the span that is active where the run begins; where none is, for instance on
/// another thread, the one that was active where the collector was made. When nobody records the
/// trace, the pipeline runs as if there were no collector.
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
    verbosity: CupelVerbosity,
    tracers: Tracers,
    metrics: Option<CupelMetrics>,
    parent: Parent,
    state: State,
}

#[derive(Debug)]
enum Parent {
    /// The context the collector was made in, unless another one is active when a run begins.
    Made(Context),
    /// This one.
    Given(Context),
    /// This one, of a call whose span already says which conversation it belongs to. Numbers are
    /// handed to the call, which knows what became of the selection.
    Call(Context, Handover),
}

/// Where a call finds the numbers of its run.
pub(crate) type Handover = Arc<OnceLock<Tally>>;

#[derive(Debug)]
enum State {
    Idle,
    Running(Box<Run>),
    /// Nobody records this run.
    Unwatched,
}

#[derive(Debug)]
struct Run {
    spans: Option<RunSpans>,
    /// What there is to measure, and since when.
    tally: Option<(Tally, Instant)>,
}

impl CupelOtelTraceCollector {
    /// A collector for the global tracer provider, under the scope `cupel`.
    #[must_use]
    pub fn new(verbosity: CupelVerbosity) -> Self {
        Self {
            verbosity,
            tracers: Tracers::default(),
            metrics: None,
            parent: Parent::Made(Context::current()),
            state: State::Idle,
        }
    }

    /// Makes the spans children of this context's span, whatever is active.
    #[must_use]
    pub fn parent(mut self, context: Context) -> Self {
        self.parent = Parent::Given(context);
        self
    }

    /// Measures as well. Then a run is watched even when its spans are not recorded.
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
        self.tracers = Tracers::of(provider);
        self
    }

    /// For the pipeline of a call whose own span is in `context`.
    pub(crate) fn of_call(
        verbosity: CupelVerbosity,
        tracers: Tracers,
        metrics: Option<CupelMetrics>,
        context: Context,
        handover: Handover,
    ) -> Self {
        let parent = Parent::Call(context, handover);
        Self { verbosity, tracers, metrics, parent, state: State::Idle }
    }

    fn begin_spans(&self, budget: &ContextBudget) -> Option<RunSpans> {
        let begin = |parent: &Context| {
            RunSpans::begin(self.tracers.tracer()?, parent, self.verbosity, budget)
        };
        // What is known about the conversation is asked only when there is a span to carry it.
        let (spans, conversation) = match &self.parent {
            Parent::Call(context, _) => return begin(context),
            Parent::Given(context) => (begin(context)?, ConversationId::of(context)),
            Parent::Made(made) => {
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

    fn run(&mut self) -> Option<&mut Run> {
        match &mut self.state {
            State::Running(run) => Some(run),
            State::Idle | State::Unwatched => None,
        }
    }

    fn spans(&mut self) -> Option<&mut RunSpans> {
        self.run().and_then(|run| run.spans.as_mut())
    }
}

impl TraceCollector for CupelOtelTraceCollector {
    fn is_enabled(&self) -> bool {
        !matches!(self.state, State::Unwatched)
    }

    fn detail_level(&self) -> TraceDetailLevel {
        TraceDetailLevel::Stage
    }

    /// The first tier has counts only, and counting items is for metrics.
    fn wants_items(&self) -> bool {
        self.verbosity > CupelVerbosity::StageOnly || self.metrics.is_some()
    }

    fn begin_run(&mut self, _candidates: usize, budget: &ContextBudget) {
        let tally = self.metrics.is_some().then(|| (Tally::new(budget), Instant::now()));
        let spans = self.begin_spans(budget);
        self.state = match (&spans, &tally) {
            (None, None) => State::Unwatched,
            _ => State::Running(Box::new(Run { spans, tally })),
        };
    }

    fn begin_stage(&mut self, stage: &PipelineStage, items_in: usize) {
        if let Some(spans) = self.spans() {
            spans.begin_stage(stage, items_in);
        }
    }

    fn record_stage_event(&mut self, event: TraceEvent) {
        if let Some(spans) = self.spans() {
            spans.end_stage(&event);
        }
    }

    fn record_item_event(&mut self, _event: TraceEvent) {}

    fn record_included(&mut self, included: IncludedItem) {
        let Some(run) = self.run() else { return };
        if let Some((tally, _)) = &mut run.tally {
            tally.include(included.item.tokens());
        }
        if let Some(spans) = &mut run.spans {
            spans.include(&included);
        }
    }

    fn record_excluded(&mut self, _stage: &PipelineStage, excluded: ExcludedItem) {
        let Some(run) = self.run() else { return };
        if let Some((tally, _)) = &mut run.tally {
            tally.exclude(&excluded.reason);
        }
        if let Some(spans) = &mut run.spans {
            spans.exclude(&excluded);
        }
    }

    fn end_run(&mut self, outcome: Result<(), &CupelError>) {
        let State::Running(mut run) = std::mem::replace(&mut self.state, State::Idle) else {
            return;
        };
        let error = outcome.err().map(CupelError::name);
        if let Some(spans) = &mut run.spans {
            spans.end(error);
        }
        let (Some((tally, began)), Some(metrics)) = (run.tally, &self.metrics) else { return };
        metrics.record_run(began.elapsed(), error);
        match &self.parent {
            // A run that failed has selected nothing.
            _ if error.is_some() => {}
            Parent::Call(_, handover) => drop(handover.set(tally)),
            Parent::Made(_) | Parent::Given(_) => tally.record(metrics),
        }
    }
}
