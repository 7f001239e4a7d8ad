//! The steps of a call before the wrapped service: prepare, gather, select, join.

use std::sync::Arc;
use std::task::{Context, Poll};

use tracing::Span;

use super::budget::without_fixed;
use super::service::Shared;
use super::{ContextAdapter, ContextError, Origin, Placed, Selection};
use crate::diagnostics::{
    DiagnosticTraceCollector, NullTraceCollector, SelectionReport, TraceDetailLevel,
};
use crate::error::CupelError;
use crate::gather::{Arrived, Gather, GatherReport, Gathered};
use crate::model::{ContextBudget, ContextItem};
use crate::pipeline::Pipeline;

/// A request taken apart, with its budget, and its sources open.
pub(super) struct Prepared<Rest> {
    pub(super) candidates: Vec<ContextItem>,
    pub(super) rest: Rest,
    pub(super) budget: ContextBudget,
    pub(super) fixed_tokens: i64,
    /// None when the layer has no sources.
    pub(super) gather: Option<Gather>,
}

impl<Rest> Prepared<Rest> {
    pub(super) fn new<Req, A>(shared: &Shared<Req, A>, request: Req) -> Result<Self, ContextError>
    where
        A: ContextAdapter<Req, Rest = Rest>,
    {
        let whole = shared.budget.budget(&request).map_err(ContextError::Budget)?;
        // Opening a source runs none of it, and the adapter is about to consume the request.
        let gather = (!shared.sources.is_empty())
            .then(|| Gather::open(&shared.sources, &request, shared.gather_deadline));
        let split = shared.adapter.split(request).map_err(ContextError::Adapter)?;
        let fixed_tokens = split.fixed_tokens;
        if fixed_tokens < 0 {
            // Taken off the budget they would make it larger than the model's window.
            let problem = format!("fixed_tokens must be at least 0, got {fixed_tokens}");
            return Err(ContextError::Adapter(problem.into()));
        }
        let budget = without_fixed(&whole, fixed_tokens).ok_or_else(|| {
            let available_tokens = whole.max_tokens().saturating_sub(whole.output_reserve());
            ContextError::FixedTokens { fixed_tokens, available_tokens }
        })?;
        Ok(Self { candidates: split.candidates, rest: split.rest, budget, fixed_tokens, gather })
    }

    /// All candidates, once the sources have ended or been cut off.
    pub(super) fn poll_gathered<Req, A>(
        &mut self,
        shared: &Shared<Req, A>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Gathered, (ContextError, GatherReport)>> {
        let arrived = match &mut self.gather {
            None => Arrived::default(),
            Some(gather) => match gather.poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(arrived)) => arrived,
                Poll::Ready(Err((failed, report))) => {
                    let error = ContextError::Source {
                        name: failed.name,
                        outcome: failed.outcome,
                        cause: failed.cause,
                    };
                    return Poll::Ready(Err((error, report)));
                }
            },
        };
        self.gather = None;
        let own = std::mem::take(&mut self.candidates);
        let overflow = shared.pipeline.overflow_strategy();
        Poll::Ready(Ok(Gathered::merge(own, arrived, &shared.sources, &self.budget, overflow)))
    }
}

/// A selection to be made, here or on the blocking pool.
pub(super) struct Job {
    pub(super) pipeline: Pipeline,
    pub(super) gathered: Gathered,
    pub(super) budget: ContextBudget,
    pub(super) wants_report: bool,
    pub(super) span: Span,
}

/// A selection that was made, or not.
pub(super) struct Outcome {
    pub(super) gathered: Gathered,
    /// Positions of the selected candidates, in presentation order.
    pub(super) selected: Result<(Vec<usize>, Option<SelectionReport>), CupelError>,
}

impl Job {
    /// About how long the selection takes, in steps.
    pub(super) fn steps(&self) -> u64 {
        self.pipeline.slicer().steps(self.gathered.items.len(), self.budget.target_tokens())
    }

    pub(super) fn run(self) -> Outcome {
        let Self { pipeline, gathered, budget, wants_report, span } = self;
        let _entered = span.enter();
        let items = &gathered.items;
        let selected = if wants_report {
            let mut collector = DiagnosticTraceCollector::new(TraceDetailLevel::Stage);
            pipeline
                .run_positions(items, &budget, &mut collector)
                .map(|positions| (positions, Some(collector.into_report())))
        } else {
            pipeline
                .run_positions(items, &budget, &mut NullTraceCollector)
                .map(|positions| (positions, None))
        };
        Outcome { gathered, selected }
    }
}

/// Tells the hooks and puts the selection back into the request.
pub(super) fn join<Req, A: ContextAdapter<Req>>(
    shared: &Shared<Req, A>,
    rest: A::Rest,
    budget: ContextBudget,
    fixed_tokens: i64,
    outcome: Outcome,
) -> Result<(Req, Selection), (ContextError, GatherReport)> {
    let Outcome { gathered, selected } = outcome;
    let Gathered { items, owners, report: gather } = gathered;
    let (positions, report) = match selected {
        Ok(selected) => selected,
        Err(error) => return Err((error.into(), gather)),
    };
    // Without a hook or a caller who wants it, there is no report to tell about.
    let told = report.is_some();
    let selection = Selection { report: report.unwrap_or_default(), gather, budget, fixed_tokens };
    if told {
        shared.hooks.iter().for_each(|hook| hook.on_selection(&selection));
    }
    // Each position comes once, so the items can move.
    let mut items: Vec<Option<ContextItem>> = items.into_iter().map(Some).collect();
    let placed = positions
        .into_iter()
        .filter_map(|position| {
            let item = items.get_mut(position)?.take()?;
            let origin = match owners.source_of(position) {
                None => Origin::Request(position),
                Some((name, position)) => Origin::Source { name: Arc::clone(name), position },
            };
            Some(Placed { item, origin })
        })
        .collect();
    match shared.adapter.join(rest, placed) {
        Ok(request) => Ok((request, selection)),
        Err(error) => Err((ContextError::Adapter(error), selection.gather)),
    }
}
