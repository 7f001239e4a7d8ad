//! Following single calls from their beginning to their selection.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use super::{ContextError, Selection, SelectionHook};
use crate::diagnostics::{
    DiagnosticTraceCollector, ExcludedItem, IncludedItem, PipelineStage, SelectionReport,
    TraceCollector, TraceDetailLevel, TraceEvent,
};
use crate::error::CupelError;
use crate::gather::GatherReport;
use crate::model::{ContextBudget, CountRequirementShortfall};

/// Follows one call, for a hook that keeps something about each: a span, or when it began.
///
/// A [`SelectionHook`] makes one in [`observe`](SelectionHook::observe). It is dropped before the
/// wrapped service is called, and when the call is dropped.
///
/// ```
/// use std::time::SystemTime;
/// use cupel::layer::{CallObserver, Selection, SelectionHook};
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
///     fn observe(&self, called_at: SystemTime) -> Option<Box<dyn CallObserver>> {
///         Some(Box::new(Begun(called_at)))
///     }
/// }
///
/// impl CallObserver for Begun {
///     fn on_selection(self: Box<Self>, _selection: &Selection) {
///         println!("{:?}", self.0.elapsed().unwrap_or_default());
///     }
/// }
/// ```
pub trait CallObserver: Send {
    /// Watches the pipeline, from wherever it runs. Asked for once, when gathering is over.
    fn collector(&mut self) -> Option<Box<dyn TraceCollector + Send>> {
        None
    }

    /// A selection was made and is about to be sent. Its report is empty unless
    /// [somebody wants it](SelectionHook::wants_selection).
    fn on_selection(self: Box<Self>, selection: &Selection) {
        let _ = selection;
    }

    /// No selection could be made or sent.
    fn on_failure(self: Box<Self>, error: &ContextError, gather: &GatherReport) {
        let _ = (error, gather);
    }
}

/// Everybody who follows one call.
pub(super) struct Observers {
    /// Set until the hooks have been asked, if there are any.
    called_at: Option<SystemTime>,
    observers: Vec<Box<dyn CallObserver>>,
}

impl Observers {
    /// For a call that is made now.
    pub(super) fn called_now(hooks: &[Arc<dyn SelectionHook>]) -> Self {
        let called_at = (!hooks.is_empty()).then(SystemTime::now);
        Self { called_at, observers: Vec::new() }
    }

    /// Asks the hooks once.
    pub(super) fn begin(&mut self, hooks: &[Arc<dyn SelectionHook>]) {
        if let Some(called_at) = self.called_at.take() {
            self.observers = hooks.iter().filter_map(|hook| hook.observe(called_at)).collect();
        }
    }

    /// Those who watch the pipeline.
    pub(super) fn audience(&mut self, wants_report: bool) -> Audience {
        let report = wants_report.then(|| DiagnosticTraceCollector::new(TraceDetailLevel::Stage));
        let others = self.observers.iter_mut().filter_map(|observer| observer.collector());
        Audience { report, others: others.filter(|other| other.is_enabled()).collect() }
    }

    pub(super) fn selected(&mut self, selection: &Selection) {
        self.observers.drain(..).for_each(|observer| observer.on_selection(selection));
    }

    pub(super) fn failed(&mut self, error: &ContextError, gather: &GatherReport) {
        self.observers.drain(..).for_each(|observer| observer.on_failure(error, gather));
    }
}

/// Everybody who watches one run of the pipeline, as one collector.
#[derive(Default)]
pub(super) struct Audience {
    report: Option<DiagnosticTraceCollector>,
    others: Vec<Box<dyn TraceCollector + Send>>,
}

impl Audience {
    pub(super) fn is_empty(&self) -> bool {
        self.report.is_none() && self.others.is_empty()
    }

    pub(super) fn into_report(self) -> Option<SelectionReport> {
        self.report.map(DiagnosticTraceCollector::into_report)
    }

    /// Passes a value on, copied for all but the last.
    fn tell<T: Clone>(&mut self, value: T, tell: impl Fn(&mut dyn TraceCollector, T)) {
        let Self { report, others } = self;
        let others = others.iter_mut().filter(|other| other.is_enabled());
        let others = others.map(|other| &mut **other as &mut dyn TraceCollector);
        let report = report.as_mut().map(|report| report as &mut dyn TraceCollector);
        let mut audience = report.into_iter().chain(others).peekable();
        while let Some(collector) = audience.next() {
            if audience.peek().is_none() {
                tell(collector, value);
                return;
            }
            tell(collector, value.clone());
        }
    }
}

impl TraceCollector for Audience {
    fn is_enabled(&self) -> bool {
        self.report.is_some() || self.others.iter().any(|other| other.is_enabled())
    }

    fn detail_level(&self) -> TraceDetailLevel {
        let enabled = self.others.iter().filter(|other| other.is_enabled());
        let levels = enabled.map(|other| other.detail_level());
        levels.max().unwrap_or(TraceDetailLevel::Stage)
    }

    fn wants_items(&self) -> bool {
        let mut enabled = self.others.iter().filter(|other| other.is_enabled());
        self.report.is_some() || enabled.any(|other| other.wants_items())
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
        self.others.iter_mut().for_each(|other| other.end_run(outcome));
    }
}

impl fmt::Debug for dyn CallObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallObserver")
    }
}
