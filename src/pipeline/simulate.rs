//! The same candidates under many budgets: ranked once, sliced as often as asked.

use super::observe::Observer;
use super::parts::Pipeline;
use super::place::Place;
use super::rank::{self, Ranked};
use super::slice::{self, SliceFn};
use crate::diagnostics::NullTraceCollector;
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, ScoredItem};

impl Pipeline {
    /// The stages that do not depend on the budget.
    pub(crate) fn rank_once<'a>(&self, items: &'a [ContextItem]) -> Result<Ranked<'a>, CupelError> {
        rank::check_count(items)?;
        let mut collector = NullTraceCollector;
        let mut observer = Observer::silent(&mut collector);
        let classified = rank::classify(items, &mut observer);
        Ok(self.rank(classified, &mut observer))
    }

    /// Prepares to select from `ranked` under any number of budgets.
    pub(crate) fn simulate<'s>(&'s self, ranked: &'s Ranked<'s>) -> Simulation<'s> {
        Simulation { pipeline: self, ranked, slice: self.slicer.prepare(&ranked.sorted) }
    }
}

/// Selects from ranked candidates under one budget after another.
pub(crate) struct Simulation<'s> {
    pipeline: &'s Pipeline,
    ranked: &'s Ranked<'s>,
    slice: Box<SliceFn<'s>>,
}

impl<'s> Simulation<'s> {
    /// Items that a run under `budget` would select, in no particular order.
    pub(crate) fn select(&self, budget: &ContextBudget) -> Result<Vec<ScoredItem<'s>>, CupelError> {
        let mut collector = NullTraceCollector;
        let mut observer = Observer::silent(&mut collector);
        let sliced = self.slice(budget, &mut observer)?;
        let merged = self.stage_six(budget).merge(&sliced, &mut observer)?;
        Ok(merged.into_iter().map(|selected| selected.scored).collect())
    }

    /// Items that a run under `budget` would select, in presentation order.
    pub(crate) fn place(&self, budget: &ContextBudget) -> Result<Vec<&'s ContextItem>, CupelError> {
        let mut collector = NullTraceCollector;
        let mut observer = Observer::silent(&mut collector);
        let sliced = self.slice(budget, &mut observer)?;
        let placed = self.stage_six(budget).place(&sliced, &mut observer)?;
        let items = self.ranked.classified.items;
        Ok(placed.into_iter().filter_map(|position| items.get(position)).collect())
    }

    fn slice(
        &self,
        budget: &ContextBudget,
        observer: &mut Observer<'_, NullTraceCollector>,
    ) -> Result<Vec<usize>, CupelError> {
        self.ranked.classified.check_pinned(budget)?;
        slice::slice(&*self.slice, self.pipeline.slicer.name(), self.ranked, budget, observer)
    }

    fn stage_six<'p>(&'p self, budget: &'p ContextBudget) -> Place<'p, 's> {
        Place {
            pipeline: self.pipeline,
            ranked: self.ranked,
            budget,
            arrival: &[],
            on_overflow: None,
        }
    }
}
