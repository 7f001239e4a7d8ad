//! Runs of a pipeline: all stages in a row, or simulated under many budgets.

use super::Pipeline;
use super::fit::{PlaceStage, slice};
use super::observe::Observer;
use super::rank::{RankedItems, check_count, classify};
use crate::diagnostics::{
    DiagnosticTraceCollector, NullTraceCollector, SelectionReport, TraceCollector,
    TraceDetailLevel, spans,
};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, ScoredItem};
use crate::slicer::PreparedSlice;

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
    pub fn run_traced(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut dyn TraceCollector,
    ) -> Result<Vec<ContextItem>, CupelError> {
        let placed = self.run_positions(items, budget, collector)?;
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
    pub(crate) fn run_positions(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut dyn TraceCollector,
    ) -> Result<Vec<usize>, CupelError> {
        check_count(items)?;
        let span = spans::pipeline(items.len(), budget);
        let _entered = span.enter();
        let mut observer = Observer::begin(collector, items.len(), budget);
        let outcome = self.stages(items, budget, &mut observer);
        observer.end(&span, outcome.as_ref().map(|_| ()));
        outcome
    }

    fn stages(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        observer: &mut Observer<'_>,
    ) -> Result<Vec<usize>, CupelError> {
        let classified = classify(items, observer);
        classified.check_pinned(budget)?;
        let ranked = self.rank(classified, observer);
        let choose = |effective: &ContextBudget| self.slicer.slice(&ranked.sorted, effective);
        let sliced = slice(&choose, self.slicer.name(), &ranked, budget, observer)?;
        let place = PlaceStage { pipeline: self, ranked: &ranked, budget, arrival: &[] };
        place.place(&sliced, observer)
    }

    /// The same pipeline without its overflow observer, for runs that select nothing.
    pub(crate) fn quiet(&self) -> Self {
        Self { overflow_observer: None, ..self.clone() }
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
    pub fn dry_run_traced(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut dyn TraceCollector,
    ) -> Result<(), CupelError> {
        self.quiet().run_positions(items, budget, collector).map(|_| ())
    }

    /// The stages that do not depend on the budget.
    pub(crate) fn rank_once<'a>(
        &self,
        items: &'a [ContextItem],
    ) -> Result<RankedItems<'a>, CupelError> {
        check_count(items)?;
        let mut observer = Observer::default();
        let classified = classify(items, &mut observer);
        Ok(self.rank(classified, &mut observer))
    }

    /// Prepares to select from `ranked` under any number of budgets.
    pub(crate) fn simulate<'s>(&'s self, ranked: &'s RankedItems<'s>) -> Simulation<'s> {
        Simulation { pipeline: self.quiet(), ranked, slice: self.slicer.prepare(&ranked.sorted) }
    }
}

/// Selects from ranked candidates under one budget after another.
pub(crate) struct Simulation<'s> {
    pipeline: Pipeline,
    ranked: &'s RankedItems<'s>,
    slice: PreparedSlice<'s>,
}

impl<'s> Simulation<'s> {
    /// Items that a run under `budget` would select, in no particular order.
    pub(crate) fn select(&self, budget: &ContextBudget) -> Result<Vec<ScoredItem<'s>>, CupelError> {
        let mut observer = Observer::default();
        let sliced = self.slice(budget, &mut observer)?;
        let merged = self.stage_six(budget).merge(&sliced, &mut observer)?;
        Ok(merged.into_iter().map(|selected| selected.scored).collect())
    }

    /// Items that a run under `budget` would select, in presentation order.
    pub(crate) fn place(&self, budget: &ContextBudget) -> Result<Vec<&'s ContextItem>, CupelError> {
        let mut observer = Observer::default();
        let sliced = self.slice(budget, &mut observer)?;
        let placed = self.stage_six(budget).place(&sliced, &mut observer)?;
        let items = self.ranked.classified.items;
        Ok(placed.into_iter().filter_map(|position| items.get(position)).collect())
    }

    fn slice(
        &self,
        budget: &ContextBudget,
        observer: &mut Observer<'_>,
    ) -> Result<Vec<usize>, CupelError> {
        self.ranked.classified.check_pinned(budget)?;
        slice(&*self.slice, self.pipeline.slicer.name(), self.ranked, budget, observer)
    }

    fn stage_six<'p>(&'p self, budget: &'p ContextBudget) -> PlaceStage<'p, 's> {
        PlaceStage { pipeline: &self.pipeline, ranked: self.ranked, budget, arrival: &[] }
    }
}
