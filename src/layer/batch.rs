//! Selects from everything that has arrived.

use tokio::time::Instant;

use crate::diagnostics::{TraceCollector, Watchers};
use crate::gather::{
    Arrivals, Candidates, LearnedCost, SelectionFailure, SelectionOutcome, SourceFacts,
};
use crate::model::{ContextBudget, RefusedItem};
use crate::pipeline::Pipeline;

/// A selection to be made, here or on the blocking pool.
pub(super) struct SelectionJob {
    pub(super) arrivals: Arrivals,
    pub(super) budget: ContextBudget,
    pub(super) refused: Vec<RefusedItem>,
    pub(super) watchers: Watchers,
}

/// Steps for building a candidate, and dropping it again.
const STEPS_PER_CANDIDATE: u64 = 36;

/// Steps for listing a candidate in a report.
const STEPS_PER_REPORTED: u64 = 150;

impl SelectionJob {
    /// Duration of the selection in steps of about a nanosecond: what its parts say, or what the calls
    /// before have shown, whichever is more.
    pub(super) fn steps(&self, pipeline: &Pipeline, cost: &LearnedCost) -> u64 {
        let Self { arrivals, budget, .. } = self;
        let candidates = arrivals.len();
        let slicing = pipeline.slicer().steps(candidates, budget.target_tokens());
        let declared = arrivals
            .lists()
            .map(|items| pipeline.scorer().steps(items))
            .fold(slicing, u64::saturating_add);
        let reporting = if self.watchers.wants_items() { STEPS_PER_REPORTED } else { 0 };
        let listing = (candidates as u64).saturating_mul(STEPS_PER_CANDIDATE + reporting);
        declared.saturating_add(listing).max(cost.of(candidates))
    }

    pub(super) fn run(
        self,
        pipeline: &Pipeline,
        facts: &[SourceFacts],
        cost: &LearnedCost,
    ) -> Result<SelectionOutcome, SelectionFailure> {
        let (begun, count) = (Instant::now(), self.arrivals.len());
        let Self { arrivals, budget, refused, watchers } = self;
        let wants_report = watchers.want_report();
        let relevance = arrivals.relevance().filter(|_| wants_report).cloned();
        let mut chosen = match arrivals.streaming {
            Some(streaming) => streaming.finish(watchers)?,
            None => {
                let candidates = Candidates::merge(arrivals.own, arrivals.sources);
                candidates.select(pipeline, &budget, facts, watchers)?
            }
        };
        chosen.report.relevance = relevance;
        if wants_report && !refused.is_empty() {
            chosen.report.refuse(refused);
        }
        cost.note(count, begun.elapsed());
        Ok(chosen)
    }
}
