//! Several collectors that watch one run of the pipeline, as one.

use crate::caught::caught;
use crate::diagnostics::{
    DiagnosticTraceCollector, ExcludedItem, IncludedItem, PipelineStage, SelectionReport,
    TraceCollector, TraceDetailLevel, TraceEvent, spans,
};
use crate::error::CupelError;
use crate::model::{ContextBudget, CountRequirementShortfall};

/// Runs a hook or an observer. Its panic is logged, and no call fails for it.
pub(crate) fn tell<T>(hook: impl FnOnce() -> T) -> Option<T> {
    let told = caught(hook);
    if told.is_err() {
        // Without the message, which may quote what was selected.
        tracing::error!(target: spans::TARGET, "a selection hook panicked");
    }
    told.ok()
}

/// Everybody who watches one run of the pipeline, as one collector.
#[derive(Default)]
pub(crate) struct Watchers {
    pub(crate) report: Option<DiagnosticTraceCollector>,
    pub(crate) others: Vec<Box<dyn TraceCollector + Send>>,
}

impl Watchers {
    pub(crate) fn is_empty(&self) -> bool {
        self.report.is_none() && self.others.is_empty()
    }

    pub(crate) fn want_report(&self) -> bool {
        self.report.is_some()
    }

    /// An empty one when nobody wants it.
    pub(crate) fn into_report(self) -> SelectionReport {
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
