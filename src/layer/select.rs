//! Selecting, here or on the blocking pool.

use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio::time::Instant;
use tracing::Span;

use super::arrivals::Arrivals;
use super::cost::Cost;
use super::observe::Watchers;
use super::pinned::Explanation;
use super::pooled::Pooled;
use super::{ContextError, StreamReport};
use crate::diagnostics::{ExcludedItem, NullTraceCollector, SelectionReport, TraceCollector};
use crate::gather::{Candidates, SourceFacts, message_of};
use crate::model::{ContextBudget, ExclusionReason, Placed, Refused};
use crate::pipeline::Pipeline;

/// A selection to be made.
pub(super) struct Job {
    pub(super) pipeline: Pipeline,
    pub(super) facts: Arc<[SourceFacts]>,
    pub(super) arrivals: Arrivals,
    pub(super) budget: ContextBudget,
    /// For the error, if pinned items do not fit.
    pub(super) explanation: Explanation,
    pub(super) refused: Vec<Refused>,
    pub(super) watchers: Watchers,
    pub(super) cost: Arc<Cost>,
    pub(super) span: Span,
}

/// What building a candidate, and dropping it again, takes in steps.
const STEPS_PER_CANDIDATE: u64 = 36;

/// What listing a candidate in a report takes in steps.
const STEPS_PER_REPORTED: u64 = 150;

/// What was selected, and what there is to say about it.
#[derive(Default)]
pub(super) struct Chosen {
    /// In presentation order.
    pub(super) placed: Vec<Placed>,
    /// Empty when nobody wants it.
    pub(super) report: SelectionReport,
    pub(super) stream: Option<StreamReport>,
    /// One entry a source.
    pub(super) sources: Vec<SourceNotes>,
    /// How many items there were to select from.
    pub(super) candidates: usize,
}

/// What selecting has found out about a source.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SourceNotes {
    pub(super) pins_lifted: usize,
    pub(super) broke_promise: bool,
}

impl Job {
    /// About how long the selection takes, in steps of a nanosecond: what its parts say, or what
    /// the calls before have shown, whichever is more.
    pub(super) fn steps(&self) -> u64 {
        let Self { pipeline, arrivals, budget, .. } = self;
        let candidates = arrivals.len();
        let slicing = pipeline.slicer().steps(candidates, budget.target_tokens());
        let lists = std::iter::once(&arrivals.own).chain(&arrivals.lists);
        let declared =
            lists.map(|items| pipeline.scorer().steps(items)).fold(slicing, u64::saturating_add);
        let reporting = if self.watchers.wants_items() { STEPS_PER_REPORTED } else { 0 };
        let listing = (candidates as u64).saturating_mul(STEPS_PER_CANDIDATE + reporting);
        declared.saturating_add(listing).max(self.cost.of(candidates))
    }

    pub(super) fn run(self) -> Result<Chosen, ContextError> {
        let span = self.span.clone();
        let _entered = span.enter();
        let (begun, candidates) = (Instant::now(), self.arrivals.len());
        let Self {
            pipeline,
            facts,
            arrivals,
            budget,
            explanation,
            refused,
            mut watchers,
            cost,
            ..
        } = self;
        let wants_report = watchers.want_report();
        let relevance = arrivals.relevance().filter(|_| wants_report).cloned();
        let mut chosen = match arrivals.streaming {
            Some(streaming) => streaming.finish(watchers, explanation)?,
            None => {
                let mut candidates = Candidates::merge(arrivals.own, arrivals.lists);
                let overflow = pipeline.overflow_strategy();
                let lifted = match facts.is_empty() {
                    true => Vec::new(),
                    false => candidates.lift_pins(&facts, &budget, overflow),
                };
                let items = &candidates.items;
                let count = items.len();
                let positions = if watchers.is_empty() {
                    pipeline.run_positions(items, &budget, &mut NullTraceCollector)
                } else {
                    pipeline.run_positions(items, &budget, &mut watchers)
                };
                let positions = positions.map_err(|error| explanation.of(error, items))?;
                let notes = |pins_lifted| SourceNotes { pins_lifted, broke_promise: false };
                Chosen {
                    placed: candidates.into_placed(&positions, &facts),
                    report: watchers.into_report(),
                    stream: None,
                    sources: lifted.into_iter().map(notes).collect(),
                    candidates: count,
                }
            }
        };
        chosen.report.relevance = relevance;
        if wants_report && !refused.is_empty() {
            add_refused(&mut chosen.report, refused);
        }
        cost.note(candidates, begun.elapsed());
        Ok(chosen)
    }
}

/// Lists what was never up for selection among the excluded items.
fn add_refused(report: &mut SelectionReport, refused: Vec<Refused>) {
    report.total_candidates += refused.len();
    for Refused { item, .. } in &refused {
        report.total_tokens_considered =
            report.total_tokens_considered.saturating_add(item.tokens());
    }
    report.exclude(refused.into_iter().map(|Refused { item, why }| {
        let reason = ExclusionReason::Filtered { filter_name: why };
        ExcludedItem::new(item, 0.0, reason)
    }));
}

/// A selection on the blocking pool.
pub(super) struct Selecting(Pooled<Result<Chosen, ContextError>>);

impl Selecting {
    pub(super) fn start(pool: &Handle, job: Job) -> Self {
        Self(Pooled::start(pool, move || job.run()))
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Chosen, ContextError>> {
        self.0.poll(cx).map(|selected| match selected {
            Ok(selected) => selected,
            Err(error) => {
                let message = match error.try_into_panic() {
                    Ok(payload) => message_of(payload),
                    Err(cancelled) => cancelled.to_string(),
                };
                Err(ContextError::Panicked { message })
            }
        })
    }
}
