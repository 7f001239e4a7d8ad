//! One call's span, hooks and observers.

use std::sync::Arc;
use std::time::SystemTime;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tracing::Span;

use super::{CallObserver, CallStart, ContextError, Selection, SelectionHook, spans};
use crate::caught;
use crate::diagnostics::{
    DiagnosticTraceCollector, SelectionReport, TraceDetailLevel, Watchers, tell,
};
use crate::gather::GatherReport;
use crate::pipeline::record_failure;

/// Everybody who is told about one call.
pub(super) struct CallLog {
    /// Ends when the request has been built, or the call has failed.
    span: Span,
    /// Set until the hooks have been asked, if there are any.
    start: Option<CallStart>,
    observers: Vec<Box<dyn CallObserver>>,
    /// `true` if a hook or the caller wants a report.
    wants_report: bool,
    /// `true` if the caller wants one.
    caller_wants_report: bool,
}

impl CallLog {
    /// Begins the span of a call that is made now.
    pub(super) fn begin(hooks: &[Arc<dyn SelectionHook>], caller_wants_report: bool) -> Self {
        let start = (!hooks.is_empty()).then(|| CallStart::new(SystemTime::now()));
        let asks = |hook: &Arc<dyn SelectionHook>| tell(|| hook.wants_selection()) == Some(true);
        let wants_report = caller_wants_report || hooks.iter().any(asks);
        let span = spans::selection();
        Self { span, start, observers: Vec::new(), wants_report, caller_wants_report }
    }

    pub(super) fn span(&self) -> &Span {
        &self.span
    }

    pub(super) fn wants_report(&self) -> bool {
        self.wants_report
    }

    /// Tells telemetry which model the request is for.
    pub(super) fn note_model(&mut self, model: Option<&str>) {
        if let Some(model) = model {
            self.span.record("gen_ai.request.model", model);
            self.start.iter_mut().for_each(|start| start.model = Some(model.into()));
        }
    }

    /// Asks the hooks once who follows the call.
    pub(super) fn observe(&mut self, hooks: &[Arc<dyn SelectionHook>]) {
        if let Some(start) = self.start.take() {
            let observers = hooks.iter().filter_map(|hook| tell(|| hook.observe(&start)));
            self.observers = observers.flatten().collect();
        }
    }

    /// Those who watch the pipeline.
    pub(super) fn watchers(&mut self, explain_scores: bool) -> Watchers {
        let collector = || {
            DiagnosticTraceCollector::new(TraceDetailLevel::Stage).explain_scores(explain_scores)
        };
        let report = self.wants_report.then(collector);
        let others = self.observers.iter_mut().filter_map(|observer| {
            let collector = tell(|| observer.collector())??;
            if tell(|| collector.is_enabled()) == Some(true) {
                return Some(collector);
            }
            caught::discard(collector);
            None
        });
        Watchers::new(report, others)
    }

    /// Tells everybody about a selection that is in the request.
    pub(super) fn selected(&mut self, hooks: &[Arc<dyn SelectionHook>], selection: &mut Selection) {
        if self.wants_report {
            for hook in hooks {
                tell(|| hook.on_selection(selection));
            }
        }
        for observer in self.observers.drain(..) {
            tell(|| observer.on_selection(selection));
        }
        spans::record_sent(&self.span, selection);
        spans::tell_selected(selection);
        if !self.caller_wants_report {
            discard(std::mem::take(&mut selection.report));
        }
        self.span = Span::none();
    }

    /// Tells everybody that there is no selection.
    pub(super) fn failed(
        &mut self,
        hooks: &[Arc<dyn SelectionHook>],
        error: &ContextError,
        gather: &GatherReport,
    ) {
        let span = std::mem::replace(&mut self.span, Span::none());
        record_failure(&span, error.name());
        for observer in self.observers.drain(..) {
            tell(|| observer.on_failure(error, gather));
        }
        for hook in hooks {
            tell(|| hook.on_failure(error, gather));
        }
    }
}

/// A call that came to no end of its own was cut off: by a panic, or by whoever dropped it.
impl Drop for CallLog {
    fn drop(&mut self) {
        let cut_off = if std::thread::panicking() { "Panicked" } else { "Cancelled" };
        record_failure(&self.span, cut_off);
        self.observers.drain(..).for_each(caught::discard);
    }
}

/// Drops a report; a long one on the blocking pool. If the pool does not get to the one before, this one
/// is dropped here, so that reports do not pile up.
fn discard(report: SelectionReport) {
    static DISCARDING: Semaphore = Semaphore::const_new(1);
    if report.excluded.len() >= LONG_REPORT {
        if let (Ok(pool), Ok(turn)) = (Handle::try_current(), DISCARDING.try_acquire()) {
            pool.spawn_blocking(move || drop((report, turn)));
        }
    }
}

/// A report on so many items takes about a millisecond to drop.
const LONG_REPORT: usize = 10_000;
