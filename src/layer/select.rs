//! The steps of a call before the wrapped service: prepare, gather, select, join.

use std::sync::Arc;
use std::task::{Context, Poll};

use tracing::Span;

use super::budget::without_fixed;
use super::observe::Audience;
use super::service::Shared;
use super::streaming::{Streamed, Streaming, Terms};
use super::{ContextAdapter, ContextError, Origin, Placed, Refused, Selection, StreamReport};
use crate::diagnostics::{
    ExcludedItem, ExclusionReason, IncludedItem, NullTraceCollector, SelectionReport,
};
use crate::error::CupelError;
use crate::gather::{
    Arrived, FailurePolicy, Gather, GatherReport, Gathered, RequiredSourceFailed, Sink, Source,
    SourceReport, pin_limit,
};
use crate::model::{ContextBudget, ContextItem};
use crate::order;
use crate::pipeline::Pipeline;

/// A request taken apart, with its budget, and its sources open.
pub(super) struct Prepared<Rest> {
    pub(super) waiting: Waiting<Rest>,
    /// None when the layer has no sources.
    gather: Option<Gather>,
    intake: Intake,
}

/// What waits while a selection is made.
pub(super) struct Waiting<Rest> {
    rest: Rest,
    budget: ContextBudget,
    fixed_tokens: i64,
    refused: Vec<Refused>,
    uncounted: Vec<String>,
}

/// Where candidates go.
enum Intake {
    /// Into lists, to be selected from at the end.
    Batch { own: Vec<ContextItem>, arrived: Arrived },
    /// Into a selection, one by one.
    Stream(Box<Streaming>),
}

/// Candidates to select from, or the selection already made.
pub(super) enum Candidates {
    Gathered(Gathered),
    Streaming(Box<Streaming>, GatherReport),
}

impl<Rest> Prepared<Rest> {
    pub(super) fn new<Req, A>(
        shared: &Shared<Req, A>,
        request: Req,
        wants_report: bool,
    ) -> Result<Self, ContextError>
    where
        A: ContextAdapter<Req, Rest = Rest>,
    {
        let whole = shared.budget.budget(&request).map_err(ContextError::Budget)?;
        // Opening a source runs none of it, and the adapter is about to consume the request.
        let gather = (!shared.sources.is_empty())
            .then(|| Gather::open(&shared.sources, &request, shared.gather_deadline));
        let split = shared.adapter.split(request).map_err(ContextError::Adapter)?;
        let frame_tokens = if gather.is_some() { split.source_frame_tokens } else { 0 };
        for (field, tokens) in
            [("fixed_tokens", split.fixed_tokens), ("source_frame_tokens", frame_tokens)]
        {
            if tokens < 0 {
                // Taken off the budget they would make it larger than the model's window.
                let problem = format!("{field} must be at least 0, got {tokens}");
                return Err(ContextError::Adapter(problem.into()));
            }
        }
        let fixed_tokens = split.fixed_tokens.saturating_add(frame_tokens);
        let budget = without_fixed(&whole, fixed_tokens).ok_or_else(|| {
            let available_tokens = whole.max_tokens().saturating_sub(whole.output_reserve());
            ContextError::FixedTokens { fixed_tokens, available_tokens }
        })?;
        let mut own = split.candidates;
        // A handle from an earlier call's source may be what this request is made of.
        own.iter_mut().for_each(|item| item.set_gathered(false));
        let intake = match &shared.streaming {
            None => Intake::Batch { own, arrived: Arrived::new(shared.sources.len()) },
            Some(mode) => {
                let terms = shared.terms();
                let pipeline = &shared.pipeline;
                let mut streaming =
                    Streaming::new(pipeline, mode, budget.clone(), terms, wants_report);
                streaming.start(own);
                Intake::Stream(Box::new(streaming))
            }
        };
        let waiting = Waiting {
            rest: split.rest,
            budget,
            fixed_tokens,
            refused: split.refused,
            uncounted: split.uncounted,
        };
        Ok(Self { waiting, gather, intake })
    }

    pub(super) fn budget(&self) -> &ContextBudget {
        &self.waiting.budget
    }

    /// Waits until the sources have ended, been cut off, or are not needed any more.
    pub(super) fn poll_gathered<Req, A>(
        &mut self,
        adapter: &A,
        cx: &mut Context<'_>,
    ) -> Poll<Result<GatherReport, (ContextError, GatherReport)>>
    where
        A: ContextAdapter<Req, Rest = Rest>,
    {
        let Some(gather) = &mut self.gather else {
            return Poll::Ready(Ok(GatherReport::default()));
        };
        let rest = &self.waiting.rest;
        let count = |item: &ContextItem| adapter.source_item_tokens(rest, item);
        let polled = match &mut self.intake {
            Intake::Batch { arrived, .. } => gather.poll(cx, &mut Recount { count, sink: arrived }),
            Intake::Stream(streaming) => {
                gather.poll(cx, &mut Recount { count, sink: &mut **streaming })
            }
        };
        polled.map_err(|(failed, report)| {
            let RequiredSourceFailed { name, outcome, cause } = failed;
            (ContextError::Source { name, outcome, cause }, report)
        })
    }

    /// What there is to select from, and what waits for the selection.
    pub(super) fn into_candidates<Req, A>(
        self,
        shared: &Shared<Req, A>,
        report: GatherReport,
    ) -> (Candidates, Waiting<Rest>) {
        let candidates = match self.intake {
            Intake::Stream(streaming) => Candidates::Streaming(streaming, report),
            Intake::Batch { own, arrived } => {
                let limit = pin_limit(&self.waiting.budget, shared.pipeline.overflow_strategy());
                let gathered = Gathered::merge(own, arrived, report, &shared.sources, limit);
                Candidates::Gathered(gathered)
            }
        };
        (candidates, self.waiting)
    }
}

/// Gives arriving items the tokens they take in the request.
struct Recount<'a, F, S> {
    count: F,
    sink: &'a mut S,
}

impl<F: Fn(&ContextItem) -> i64, S: Sink> Sink for Recount<'_, F, S> {
    fn accept(&mut self, source: usize, mut items: Vec<ContextItem>, report: &mut SourceReport) {
        for item in &mut items {
            item.set_tokens((self.count)(item));
            item.set_gathered(true);
        }
        self.sink.accept(source, items, report);
    }

    fn is_settled(&self, is_open: &dyn Fn(usize) -> bool) -> bool {
        self.sink.is_settled(is_open)
    }
}

impl<Req, A> Shared<Req, A> {
    /// What each source is allowed while streaming.
    fn terms(&self) -> Vec<Terms> {
        let terms = |(number, source): (u32, &Source<Req>)| Terms {
            name: Arc::clone(&source.name),
            optional: source.failure != FailurePolicy::Required,
            bounds: source.promises.bounds(number),
            broken: false,
        };
        // The request's own candidates are source 0.
        (1..).zip(&self.sources).map(terms).collect()
    }
}

/// A selection to be made, here or on the blocking pool.
pub(super) struct Job {
    pub(super) pipeline: Pipeline,
    pub(super) gathered: Gathered,
    pub(super) budget: ContextBudget,
    pub(super) audience: Audience,
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
        let (pipeline, items) = (&self.pipeline, &self.gathered.items);
        let slicing = pipeline.slicer().steps(items.len(), self.budget.target_tokens());
        pipeline.scorer().steps(items).saturating_add(slicing)
    }

    pub(super) fn run(self) -> Outcome {
        let Self { pipeline, gathered, budget, mut audience, span } = self;
        let _entered = span.enter();
        let items = &gathered.items;
        let positions = if audience.is_empty() {
            pipeline.run_positions(items, &budget, &mut NullTraceCollector)
        } else {
            pipeline.run_positions(items, &budget, &mut audience)
        };
        let selected = positions.map(|positions| (positions, audience.into_report()));
        Outcome { gathered, selected }
    }
}

impl Outcome {
    /// The selected candidates with their origins.
    fn into_selected(self) -> Result<(Selected, GatherReport), (ContextError, GatherReport)> {
        let Gathered { items, owners, report: gather } = self.gathered;
        let (positions, report) = match self.selected {
            Ok(selected) => selected,
            Err(error) => return Err((error.into(), gather)),
        };
        // Each position comes once, so the items can move.
        let mut items: Vec<Option<ContextItem>> = items.into_iter().map(Some).collect();
        let placed = positions.into_iter().filter_map(|position| {
            let item = items.get_mut(position)?.take()?;
            let origin = match owners.source_of(position) {
                None => Origin::Request(position),
                Some((name, position)) => Origin::Source { name: Arc::clone(name), position },
            };
            Some(Placed { item, origin })
        });
        Ok((Selected { placed: placed.collect(), report, stream: None }, gather))
    }
}

/// A finished selection.
struct Selected {
    placed: Vec<Placed>,
    report: Option<SelectionReport>,
    stream: Option<StreamReport>,
}

/// A request ready to be sent and the selection in it; or why there is none.
pub(super) type Joined<Req> = Result<(Req, Selection), (ContextError, GatherReport)>;

impl<Rest> Waiting<Rest> {
    pub(super) fn join<Req, A>(self, shared: &Shared<Req, A>, outcome: Outcome) -> Joined<Req>
    where
        A: ContextAdapter<Req, Rest = Rest>,
    {
        let (selected, gather) = outcome.into_selected()?;
        self.deliver(shared, selected, gather)
    }

    pub(super) fn join_streamed<Req, A>(
        self,
        shared: &Shared<Req, A>,
        streaming: Streaming,
        audience: Audience,
        mut gather: GatherReport,
    ) -> Joined<Req>
    where
        A: ContextAdapter<Req, Rest = Rest>,
    {
        match streaming.finish(audience) {
            Ok(Streamed { placed, report, stream, pins_lifted }) => {
                for (source, lifted) in gather.sources.iter_mut().zip(pins_lifted) {
                    source.pins_lifted = lifted;
                }
                self.deliver(shared, Selected { placed, report, stream: Some(stream) }, gather)
            }
            Err(error) => Err((error.into(), gather)),
        }
    }

    /// Tells the hooks and puts the selection back into the request.
    fn deliver<Req, A>(
        self,
        shared: &Shared<Req, A>,
        selected: Selected,
        gather: GatherReport,
    ) -> Joined<Req>
    where
        A: ContextAdapter<Req, Rest = Rest>,
    {
        let Self { rest, budget, fixed_tokens, refused, uncounted } = self;
        let Selected { mut placed, report, stream } = selected;
        // Without a hook or a caller who wants it, there is no report to tell about.
        let told = report.is_some();
        let mut report = report.unwrap_or_default();
        let withdrawn = shared.adapter.withdrawn(&rest, &placed);
        let count = refused.len() + withdrawn.len();
        if told {
            add_refused(&mut report, refused);
            add_withdrawn(&mut report, &withdrawn);
        }
        for (position, _) in withdrawn.iter().rev() {
            if *position < placed.len() {
                placed.remove(*position);
            }
        }
        let refused = count;
        let selection =
            Selection { report, gather, budget, fixed_tokens, refused, uncounted, stream };
        if told {
            shared.hooks.iter().for_each(|hook| hook.on_selection(&selection));
        }
        match shared.adapter.join(rest, placed) {
            Ok(request) => Ok((request, selection)),
            Err(error) => Err((ContextError::Adapter(error), selection.gather)),
        }
    }
}

/// Moves what was selected and cannot be sent to the excluded items.
fn add_withdrawn(report: &mut SelectionReport, withdrawn: &[(usize, String)]) {
    for (position, why) in withdrawn.iter().rev() {
        // The report lists the selection in the order in which it is placed.
        if *position < report.included.len() {
            let IncludedItem { item, score, .. } = report.included.remove(*position);
            let reason = ExclusionReason::Filtered { filter_name: why.clone() };
            report.excluded.push(ExcludedItem { item, score, reason });
        }
    }
    report.excluded.sort_by_key(|excluded| order::descending(excluded.score));
}

/// Lists what was never up for selection among the excluded items.
fn add_refused(report: &mut SelectionReport, refused: Vec<Refused>) {
    report.total_candidates += refused.len();
    for Refused { item, why } in refused {
        report.total_tokens_considered =
            report.total_tokens_considered.saturating_add(item.tokens());
        let reason = ExclusionReason::Filtered { filter_name: why };
        report.excluded.push(ExcludedItem { item, score: 0.0, reason });
    }
    report.excluded.sort_by_key(|excluded| order::descending(excluded.score));
}
