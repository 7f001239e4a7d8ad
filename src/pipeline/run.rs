//! Runs of a pipeline: all stages, one after another.

use super::observe::Observer;
use super::parts::{OverflowObserver, Pipeline};
use super::place::Place;
use super::{rank, slice};
use crate::diagnostics::{
    DiagnosticTraceCollector, NullTraceCollector, SelectionReport, TraceCollector,
    TraceDetailLevel, spans,
};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem};

impl Pipeline {
    /// Selects from `items` what fits `budget`, in presentation order.
    ///
    /// # Errors
    ///
    /// [`CupelError::PinnedExceedsBudget`] when the pinned items alone do not fit,
    /// [`CupelError::Overflow`] or [`CupelError::CeilingExceeded`] when the selection exceeds the
    /// target or what the output reserve leaves under
    /// [`OverflowStrategy::Throw`](crate::OverflowStrategy::Throw), and whatever the slicer refuses.
    pub fn run(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
    ) -> Result<Vec<ContextItem>, CupelError> {
        self.run_traced(items, budget, &mut NullTraceCollector)
    }

    /// As [`run`](Self::run), telling `collector` about every stage and decision.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_traced<C: TraceCollector + ?Sized>(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut C,
    ) -> Result<Vec<ContextItem>, CupelError> {
        let placed = self.execute(items, budget, collector, self.overflow_observer.as_ref())?;
        // Room for all of them at once: `collect` would not know how many there are.
        let mut selected: Vec<ContextItem> = Vec::with_capacity(placed.len());
        selected.extend(placed.into_iter().filter_map(|position| items.get(position).cloned()));
        spans::selected(|| spans::Summary {
            candidates: items.len(),
            included: selected.len(),
            tokens: selected.iter().fold(0, |sum: i64, item| sum.saturating_add(item.tokens())),
            max_tokens: budget.max_tokens(),
            ..spans::Summary::default()
        });
        Ok(selected)
    }

    /// As [`run_traced`](Self::run_traced), as positions in `items`.
    pub(crate) fn run_positions<C: TraceCollector>(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut C,
    ) -> Result<Vec<usize>, CupelError> {
        self.execute(items, budget, collector, self.overflow_observer.as_ref())
    }

    /// Report of what [`run`](Self::run) would select, with the reasons.
    ///
    /// The overflow observer is not told: nothing has happened yet.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn dry_run(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
    ) -> Result<SelectionReport, CupelError> {
        let mut collector = DiagnosticTraceCollector::new(TraceDetailLevel::Stage);
        self.dry_run_traced(items, budget, &mut collector)?;
        Ok(collector.into_report())
    }

    /// As [`dry_run`](Self::dry_run), telling `collector` about every stage and decision.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn dry_run_traced<C: TraceCollector + ?Sized>(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut C,
    ) -> Result<(), CupelError> {
        self.dry_run_positions(items, budget, collector).map(|_| ())
    }

    /// As [`dry_run_traced`](Self::dry_run_traced), with the positions in `items` of what is selected.
    pub(crate) fn dry_run_positions<C: TraceCollector + ?Sized>(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut C,
    ) -> Result<Vec<usize>, CupelError> {
        self.execute(items, budget, collector, None)
    }

    /// The one code path behind every public way to run: the positions of what is selected.
    fn execute<C: TraceCollector + ?Sized>(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut C,
        on_overflow: Option<&OverflowObserver>,
    ) -> Result<Vec<usize>, CupelError> {
        rank::check_count(items)?;
        let span = spans::pipeline(items.len(), budget);
        let _entered = span.enter();
        let mut observer = Observer::begin(collector, items.len(), budget);
        let outcome = self.stages(items, budget, &mut observer, on_overflow);
        observer.end(&span, outcome.as_ref().map(|_| ()));
        outcome
    }

    fn stages<C: TraceCollector + ?Sized>(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        observer: &mut Observer<'_, C>,
        on_overflow: Option<&OverflowObserver>,
    ) -> Result<Vec<usize>, CupelError> {
        let classified = rank::classify(items, observer);
        classified.check_pinned(budget)?;
        let ranked = self.rank(classified, observer);
        let slice = |effective: &ContextBudget| self.slicer.slice(&ranked.sorted, effective);
        let sliced = slice::slice(&slice, self.slicer.name(), &ranked, budget, observer)?;
        let place = Place { pipeline: self, ranked: &ranked, budget, arrival: &[], on_overflow };
        place.place(&sliced, observer)
    }
}
