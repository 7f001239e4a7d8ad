//! Following single calls from their beginning to their selection.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use super::call::tell;
use super::{ContextError, Selection, SelectionHook};
use crate::diagnostics::{
    DiagnosticTraceCollector, ExcludedItem, IncludedItem, PipelineStage, SelectionReport,
    TraceCollector, TraceDetailLevel, TraceEvent,
};
use crate::error::CupelError;
use crate::gather::GatherReport;
use crate::model::{ContextBudget, CountRequirementShortfall};

/// A call that begins, for those who [follow](SelectionHook::observe) it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallStart {
    /// When the layer was called.
    pub called_at: SystemTime,
    /// The model the request is for, where [the adapter](super::ContextAdapter::model) knows it.
    pub model: Option<Arc<str>>,
}

impl CallStart {
    /// A call made at this time, for a model that is not known.
    #[must_use]
    pub fn new(called_at: SystemTime) -> Self {
        Self { called_at, model: None }
    }
}

/// Follows one call, for a hook that keeps something about each: a span, or when it began.
///
/// A [`SelectionHook`] makes one in [`observe`](SelectionHook::observe). It is dropped before the
/// wrapped service is called, and when the call is dropped.
///
/// ```
/// use std::time::SystemTime;
/// use cupel::layer::{CallObserver, CallStart, Selection, SelectionHook};
///
/// /// Says how long each call took until the model was asked.
/// struct Delay;
///
/// struct Begun(SystemTime);
///
/// impl SelectionHook for Delay {
///     fn wants_selection(&self) -> bool {
///         false
///     }
///
///     fn observe(&self, call: &CallStart) -> Option<Box<dyn CallObserver>> {
///         Some(Box::new(Begun(call.called_at)))
///     }
/// }
///
/// impl CallObserver for Begun {
///     fn on_selection(self: Box<Self>, _selection: &Selection) {
///         println!("{:?}", self.0.elapsed().unwrap_or_default());
///     }
/// }
/// ```
#[allow(unused_variables)] // the names are for those who override
pub trait CallObserver: Send {
    /// Watches the pipeline, from wherever it runs. Asked for once, when gathering is over.
    fn collector(&mut self) -> Option<Box<dyn TraceCollector + Send>> {
        None
    }

    /// A selection was made and is in the request. Its report is empty unless
    /// [somebody wants it](SelectionHook::wants_selection).
    fn on_selection(self: Box<Self>, selection: &Selection) {}

    /// No selection could be made or sent.
    fn on_failure(self: Box<Self>, error: &ContextError, gather: &GatherReport) {}
}

/// Everybody who follows one call.
pub(super) struct Observers {
    /// Set until the hooks have been asked, if there are any.
    start: Option<CallStart>,
    observers: Vec<Box<dyn CallObserver>>,
}

impl Observers {
    /// For a call that is made now.
    pub(super) fn called_now(hooks: &[Arc<dyn SelectionHook>]) -> Self {
        let start = (!hooks.is_empty()).then(|| CallStart::new(SystemTime::now()));
        Self { start, observers: Vec::new() }
    }

    /// The call that somebody may follow, until the hooks have been asked.
    pub(super) fn start(&mut self) -> Option<&mut CallStart> {
        self.start.as_mut()
    }

    /// Asks the hooks once.
    pub(super) fn begin(&mut self, hooks: &[Arc<dyn SelectionHook>]) {
        if let Some(start) = self.start.take() {
            let observers = hooks.iter().filter_map(|hook| tell(|| hook.observe(&start)));
            self.observers = observers.flatten().collect();
        }
    }

    /// Those who watch the pipeline.
    pub(super) fn watchers(&mut self, wants_report: bool, explain_scores: bool) -> Watchers {
        let collector = || {
            DiagnosticTraceCollector::new(TraceDetailLevel::Stage).explain_scores(explain_scores)
        };
        let report = wants_report.then(collector);
        let others = self.observers.iter_mut().filter_map(|observer| {
            let collector = tell(|| observer.collector())??;
            tell(|| collector.is_enabled())?.then_some(collector)
        });
        Watchers { report, others: others.collect() }
    }

    pub(super) fn selected(&mut self, selection: &Selection) {
        for observer in self.observers.drain(..) {
            tell(|| observer.on_selection(selection));
        }
    }

    pub(super) fn failed(&mut self, error: &ContextError, gather: &GatherReport) {
        for observer in self.observers.drain(..) {
            tell(|| observer.on_failure(error, gather));
        }
    }
}

/// Everybody who watches one run of the pipeline, as one collector.
#[derive(Default)]
pub(super) struct Watchers {
    report: Option<DiagnosticTraceCollector>,
    others: Vec<Box<dyn TraceCollector + Send>>,
}

impl Watchers {
    pub(super) fn is_empty(&self) -> bool {
        self.report.is_none() && self.others.is_empty()
    }

    pub(super) fn want_report(&self) -> bool {
        self.report.is_some()
    }

    /// An empty one when nobody wants it.
    pub(super) fn into_report(self) -> SelectionReport {
        self.report.map(DiagnosticTraceCollector::into_report).unwrap_or_default()
    }

    /// Passes a value on to everybody. Whoever panics hears nothing more of the run.
    fn tell<T: Clone>(&mut self, value: T, pass_on: impl Fn(&mut dyn TraceCollector, T)) {
        self.others.retain_mut(|other| {
            let told = tell(|| {
                if other.is_enabled() {
                    pass_on(&mut **other, value.clone());
                }
            });
            told.is_some()
        });
        if let Some(report) = &mut self.report {
            pass_on(report, value);
        }
    }

    fn any(&self, ask: impl Fn(&dyn TraceCollector) -> bool) -> bool {
        let ask = |other: &dyn TraceCollector| tell(|| other.is_enabled() && ask(other));
        self.others.iter().any(|other| ask(&**other) == Some(true))
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
        self.others.retain_mut(|other| tell(|| other.end_run(outcome)).is_some());
    }
}

impl fmt::Debug for dyn CallObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallObserver")
    }
}
