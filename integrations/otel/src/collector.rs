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
use crate::{CupelMetrics, CupelOtel, CupelVerbosity};

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
    settings: CupelOtel,
    parent: Parent,
    spans: Option<RunSpans>,
    /// What there is to measure, and since when.
    tally: Option<(Tally, Instant)>,
    /// Whether nobody records this run.
    unwatched: bool,
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

impl CupelOtelTraceCollector {
    /// A collector for the global tracer provider, under the scope `cupel`.
    #[must_use]
    pub fn new(verbosity: CupelVerbosity) -> Self {
        Self::with(CupelOtel::new(verbosity), Parent::Made(Context::current()))
    }

    fn with(settings: CupelOtel, parent: Parent) -> Self {
        Self { settings, parent, spans: None, tally: None, unwatched: false }
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

    /// For the pipeline of a call whose own span is in `context`.
    pub(crate) fn of_call(settings: CupelOtel, context: Context, handover: Handover) -> Self {
        Self::with(settings, Parent::Call(context, handover))
    }

    fn begin_spans(&self, budget: &ContextBudget) -> Option<RunSpans> {
        let CupelOtel { tracers, verbosity, .. } = &self.settings;
        let begin =
            |parent: &Context| RunSpans::begin(tracers.tracer()?, parent, *verbosity, budget);
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
}

impl TraceCollector for CupelOtelTraceCollector {
    fn is_enabled(&self) -> bool {
        !self.unwatched
    }

    fn detail_level(&self) -> TraceDetailLevel {
        TraceDetailLevel::Stage
    }

    /// The first tier has counts only, and counting items is for metrics.
    fn wants_items(&self) -> bool {
        self.settings.verbosity > CupelVerbosity::StageOnly || self.settings.metrics.is_some()
    }

    fn begin_run(&mut self, _candidates: usize, budget: &ContextBudget) {
        let measured = self.settings.metrics.is_some();
        self.tally = measured.then(|| (Tally::new(budget), Instant::now()));
        self.spans = self.begin_spans(budget);
        self.unwatched = self.tally.is_none() && self.spans.is_none();
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
        if let Some((tally, _)) = &mut self.tally {
            tally.include(included.item.tokens());
        }
        if let Some(spans) = &mut self.spans {
            spans.include(&included);
        }
    }

    fn record_excluded(&mut self, _stage: &PipelineStage, excluded: ExcludedItem) {
        if let Some((tally, _)) = &mut self.tally {
            tally.exclude(&excluded.reason);
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
        let tally = self.tally.take().zip(self.settings.metrics.as_ref());
        let Some(((tally, began), metrics)) = tally else { return };
        metrics.record_run(began.elapsed(), error);
        match &self.parent {
            // A run that failed has selected nothing.
            _ if error.is_some() => {}
            Parent::Call(_, handover) => drop(handover.set(tally)),
            Parent::Made(_) | Parent::Given(_) => tally.record(metrics),
        }
    }
}
