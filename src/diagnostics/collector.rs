//! Collectors, which the pipeline tells about a run, and several of them as one.

use std::fmt;

use super::{ExcludedItem, IncludedItem, PipelineStage, SelectionReport, TraceEvent};
use crate::caught::{caught, discard};
use crate::error::CupelError;
use crate::model::{ContextBudget, CountRequirementShortfall};

/// Target of all spans and events, for the filters of subscribers.
pub(crate) const TARGET: &str = "cupel";

/// Level of detail that a collector records. Higher levels include the lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TraceDetailLevel {
    /// One event a stage.
    #[default]
    Stage,
    /// Also one event for every score and every decision about an item.
    Item,
}

/// Receives what a run observes. Only the first three methods are required.
///
/// The pipeline asks [`is_enabled`](Self::is_enabled) before a run, and records nothing when the
/// answer is `false`. It asks again after [`begin_run`](Self::begin_run), so that a collector can
/// decide once it knows the budget; if the answer is `false` then, only
/// [`end_run`](Self::end_run) follows. Item-level events of a stage come before the stage's own
/// event.
#[allow(unused_variables)] // the names are for those who override
pub trait TraceCollector {
    /// Returns `true` if anything should be recorded.
    fn is_enabled(&self) -> bool;

    /// A stage has completed.
    fn record_stage_event(&mut self, event: TraceEvent);

    /// An item was scored, included or excluded.
    fn record_item_event(&mut self, event: TraceEvent);

    /// Level of detail. Item-level events are built only if it asks for them.
    fn detail_level(&self) -> TraceDetailLevel {
        TraceDetailLevel::Item
    }

    /// Returns `true` if included and excluded items and count shortfalls are wanted. Asked once, after
    /// [`begin_run`](Self::begin_run).
    fn wants_items(&self) -> bool {
        true
    }

    /// Returns `true` if items shall come with the [parts of their scores](super::ItemDetails::score).
    /// Asked once, after [`begin_run`](Self::begin_run); explaining takes about as long as scoring,
    /// and memory for every item.
    fn wants_score_parts(&self) -> bool {
        false
    }

    /// A run begins.
    fn begin_run(&mut self, candidates: usize, budget: &ContextBudget) {}

    /// A stage begins with so many items. Its event follows, unless the run fails in this stage.
    fn begin_stage(&mut self, stage: &PipelineStage, items_in: usize) {}

    /// An item was selected. Called in final order.
    fn record_included(&mut self, included: IncludedItem) {}

    /// An item was left out by `stage`.
    fn record_excluded(&mut self, stage: &PipelineStage, excluded: ExcludedItem) {}

    /// A required count could not be met.
    fn record_shortfall(&mut self, shortfall: CountRequirementShortfall) {}

    /// The run is over.
    fn end_run(&mut self, outcome: Result<(), &CupelError>) {}
}

/// Records nothing, at no cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NullTraceCollector;

impl TraceCollector for NullTraceCollector {
    fn is_enabled(&self) -> bool {
        false
    }

    fn record_stage_event(&mut self, _event: TraceEvent) {}

    fn record_item_event(&mut self, _event: TraceEvent) {}
}

type EventCallback = Box<dyn FnMut(&TraceEvent) + Send>;

/// Buffers everything and turns it into a [`SelectionReport`].
///
/// The detail level governs the *events*. The report always lists every item with its reason.
///
/// ```
/// use cupel::{ContextBudget, ContextItem, GreedySlice, Pipeline, ReflexiveScorer};
/// use cupel::diagnostics::{DiagnosticTraceCollector, TraceDetailLevel};
/// use cupel::placer::UShapedPlacer;
///
/// let pipeline = Pipeline::builder()
///     .scorer(ReflexiveScorer)
///     .slicer(GreedySlice)
///     .placer(UShapedPlacer)
///     .build()?;
/// let mut collector = DiagnosticTraceCollector::new(TraceDetailLevel::Stage);
/// let items = [ContextItem::new("hello", 2)?];
/// pipeline.run_traced(&items, &ContextBudget::builder(10).build()?, &mut collector)?;
/// let report = collector.into_report();
/// assert_eq!((report.events.len(), report.total_candidates), (5, 1));
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct DiagnosticTraceCollector {
    detail_level: TraceDetailLevel,
    on_event: Option<EventCallback>,
    score_parts: bool,
    /// The lists alone. Their totals are computed at the end.
    lists: SelectionReport,
}

impl DiagnosticTraceCollector {
    /// Creates an empty collector.
    pub fn new(detail_level: TraceDetailLevel) -> Self {
        Self { detail_level, ..Self::default() }
    }

    /// Calls `callback` at once for every event that is recorded.
    pub fn on_event(mut self, callback: impl FnMut(&TraceEvent) + Send + 'static) -> Self {
        self.on_event = Some(Box::new(callback));
        self
    }

    /// Asks for the parts of every score, in [`ItemDetails::score`](super::ItemDetails::score); off unless
    /// set.
    pub fn explain_scores(mut self, enabled: bool) -> Self {
        self.score_parts = enabled;
        self
    }

    /// The events recorded so far.
    pub fn events(&self) -> &[TraceEvent] {
        &self.lists.events
    }

    /// The report on the last run.
    pub fn into_report(self) -> SelectionReport {
        let SelectionReport { events, included, excluded, count_requirement_shortfalls, .. } =
            self.lists;
        SelectionReport::new(events, included, excluded, count_requirement_shortfalls)
    }

    fn record(&mut self, event: TraceEvent) {
        if let Some(callback) = &mut self.on_event {
            callback(&event);
        }
        self.lists.events.push(event);
    }
}

impl TraceCollector for DiagnosticTraceCollector {
    fn is_enabled(&self) -> bool {
        true
    }

    fn record_stage_event(&mut self, event: TraceEvent) {
        self.record(event);
    }

    fn record_item_event(&mut self, event: TraceEvent) {
        if self.detail_level >= TraceDetailLevel::Item {
            self.record(event);
        }
    }

    fn detail_level(&self) -> TraceDetailLevel {
        self.detail_level
    }

    fn wants_score_parts(&self) -> bool {
        self.score_parts
    }

    /// Forgets an earlier run, so that a reused collector never mixes two.
    fn begin_run(&mut self, _candidates: usize, _budget: &ContextBudget) {
        self.lists = SelectionReport::default();
    }

    fn record_included(&mut self, included: IncludedItem) {
        self.lists.included.push(included);
    }

    fn record_excluded(&mut self, _stage: &PipelineStage, excluded: ExcludedItem) {
        self.lists.excluded.push(excluded);
    }

    fn record_shortfall(&mut self, shortfall: CountRequirementShortfall) {
        self.lists.count_requirement_shortfalls.push(shortfall);
    }
}

impl fmt::Debug for DiagnosticTraceCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiagnosticTraceCollector")
            .field("detail_level", &self.detail_level)
            .field("events", &self.lists.events)
            .field("included", &self.lists.included.len())
            .field("excluded", &self.lists.excluded.len())
            .finish_non_exhaustive()
    }
}

/// Runs a hook or an observer. Its panic is logged, and no call fails for it.
pub(crate) fn tell<T>(hook: impl FnOnce() -> T) -> Option<T> {
    let told = caught(hook);
    if told.is_err() {
        // Without the message, which may quote what was selected.
        tracing::error!(target: TARGET, "a selection hook panicked");
    }
    told.ok()
}

/// Everybody who watches one run of the pipeline, as one collector.
#[derive(Default)]
pub(crate) struct Watchers {
    pub(crate) report: Option<DiagnosticTraceCollector>,
    /// Empty where one has panicked.
    others: Vec<Option<Box<dyn TraceCollector + Send>>>,
}

impl Watchers {
    pub(crate) fn new(
        report: Option<DiagnosticTraceCollector>,
        others: impl Iterator<Item = Box<dyn TraceCollector + Send>>,
    ) -> Self {
        Self { report, others: others.map(Some).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.report.is_none() && self.others.is_empty()
    }

    pub(crate) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    pub(crate) fn want_report(&self) -> bool {
        self.report.is_some()
    }

    /// An empty one when nobody wants it.
    pub(crate) fn into_report(mut self) -> SelectionReport {
        self.report.take().map(DiagnosticTraceCollector::into_report).unwrap_or_default()
    }

    /// Passes a value on to everybody. Whoever panics hears nothing more of the run.
    fn tell<T: Clone>(&mut self, value: T, pass_on: impl Fn(&mut dyn TraceCollector, T)) {
        self.tell_others(|other| {
            if other.is_enabled() {
                pass_on(other, value.clone());
            }
        });
        if let Some(report) = &mut self.report {
            pass_on(report, value);
        }
    }

    fn tell_others(&mut self, pass_on: impl Fn(&mut dyn TraceCollector)) {
        for slot in &mut self.others {
            let told = slot.as_mut().map(|other| tell(|| pass_on(&mut **other)).is_some());
            if told == Some(false) {
                discard(slot.take());
            }
        }
    }

    fn any(&self, ask: impl Fn(&dyn TraceCollector) -> bool) -> bool {
        let ask = |other: &dyn TraceCollector| tell(|| other.is_enabled() && ask(other));
        self.others.iter().flatten().any(|other| ask(&**other) == Some(true))
    }
}

impl TraceCollector for Watchers {
    fn is_enabled(&self) -> bool {
        self.report.is_some() || self.any(|_| true)
    }

    fn detail_level(&self) -> TraceDetailLevel {
        if self.any(|other| other.detail_level() >= TraceDetailLevel::Item) {
            TraceDetailLevel::Item
        } else {
            TraceDetailLevel::Stage
        }
    }

    fn wants_items(&self) -> bool {
        self.report.is_some() || self.any(|other| other.wants_items())
    }

    fn wants_score_parts(&self) -> bool {
        self.report.as_ref().is_some_and(TraceCollector::wants_score_parts)
            || self.any(|other| other.wants_score_parts())
    }

    fn record_stage_event(&mut self, event: TraceEvent) {
        self.tell(event, |collector, event| collector.record_stage_event(event));
    }

    fn record_item_event(&mut self, event: TraceEvent) {
        self.tell(event, |collector, event| {
            if collector.detail_level() >= TraceDetailLevel::Item {
                collector.record_item_event(event);
            }
        });
    }

    fn begin_run(&mut self, candidates: usize, budget: &ContextBudget) {
        self.tell((), |collector, ()| collector.begin_run(candidates, budget));
    }

    fn begin_stage(&mut self, stage: &PipelineStage, items_in: usize) {
        self.tell((), |collector, ()| collector.begin_stage(stage, items_in));
    }

    fn record_included(&mut self, included: IncludedItem) {
        self.tell(included, |collector, included| collector.record_included(included));
    }

    fn record_excluded(&mut self, stage: &PipelineStage, excluded: ExcludedItem) {
        self.tell(excluded, |collector, excluded| collector.record_excluded(stage, excluded));
    }

    fn record_shortfall(&mut self, shortfall: CountRequirementShortfall) {
        self.tell(shortfall, |collector, shortfall| collector.record_shortfall(shortfall));
    }

    /// Told to everybody who was there when the run began.
    fn end_run(&mut self, outcome: Result<(), &CupelError>) {
        self.tell_others(|other| other.end_run(outcome));
    }
}

/// A collector may panic when it is dropped, too.
impl Drop for Watchers {
    fn drop(&mut self) {
        self.others.drain(..).for_each(discard);
    }
}
