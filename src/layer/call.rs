//! One call before the wrapped service: prepare, gather, select, join.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tracing::Span;

use super::arrivals::Arrivals;
use super::beside::Beside;
use super::budget::without_fixed;
use super::errand::{Errand, Outcome};
use super::observe::Observers;
use super::pinned::{Explanation, Limits};
use super::planning::PlannedCall;
use super::select::{Chosen, Job, Selecting};
use super::service::Shared;
use super::{ContextAdapter, ContextError, Selection, SelectionHook, Sent, Split, spans};
use crate::diagnostics::spans::{TARGET, record_failure};
use crate::diagnostics::{ExcludedItem, IncludedItem, SelectionReport};
use crate::gather::{Gather, GatherError, caught};
use crate::model::{ContextBudget, ContextItem, ExclusionReason, Refused};
use crate::relevance::Question;

/// What a call has from its beginning to its end.
pub(super) struct Call<Req, A> {
    pub(super) shared: Arc<Shared<Req, A>>,
    /// Ends when the request has been built, or the call has failed.
    pub(super) span: Span,
    /// Filled in as the call goes on.
    pub(super) selection: Selection,
    observers: Observers,
    /// Set when the turn is planned.
    pub(super) planned: Option<Box<PlannedCall>>,
    /// Whether anybody wants a report: a hook, or the caller.
    pub(super) wants_report: bool,
    /// Whether the caller does.
    caller_wants_report: bool,
}

/// How far a call has come.
pub(super) enum Step<Req, Rest> {
    /// It failed before it was polled.
    Failed(ContextError),
    /// The adapter's work before the request is taken apart.
    Waiting(Req, BoxFuture<'static, ()>),
    /// Taken apart.
    Prepared(Gathering<Rest>),
    /// The judge is on the blocking pool.
    Judging(Gathering<Rest>, Errand),
    Gathering(Gathering<Rest>),
    /// The selection is on the blocking pool.
    Selecting(Rest, Selecting),
    /// All that is left to do is to send it.
    Ready(Req),
}

/// A request taken apart, while its sources deliver.
pub(super) struct Gathering<Rest> {
    pub(super) rest: Rest,
    /// None when the layer has no sources.
    gather: Option<Box<Gather>>,
    pub(super) arrivals: Arrivals,
    /// Set while a judge is waited for.
    pub(super) beside: Option<Box<Beside>>,
    /// The hints that the request's own candidates came with, if that will be asked.
    pub(super) came_with: Vec<Option<f64>>,
    /// What is asked.
    pub(super) question: Option<Question>,
    /// The whole budget.
    pub(super) whole: ContextBudget,
    /// What is sent around what sources give, unless the turn is planned.
    pub(super) frame_tokens: i64,
    pub(super) explanation: Explanation,
    refused: Vec<Refused>,
}

impl<Req, A: ContextAdapter<Req>> Call<Req, A> {
    /// Begins a call. Whatever goes wrong, panics included, is for its future to tell.
    pub(super) fn begin(
        shared: &Arc<Shared<Req, A>>,
        request: Req,
        caller_wants_report: bool,
    ) -> (Self, Step<Req, A::Rest>) {
        let span = spans::selection();
        let observers = Observers::called_now(&shared.hooks);
        let asks = |hook: &Arc<dyn SelectionHook>| tell(|| hook.wants_selection()) == Some(true);
        let wants_report = caller_wants_report || shared.hooks.iter().any(asks);
        let mut call = Self {
            shared: Arc::clone(shared),
            span: span.clone(),
            selection: Selection::empty(),
            observers,
            planned: None,
            wants_report,
            caller_wants_report,
        };
        let _entered = span.enter();
        let step = guarded(|| {
            // First, so that it is known whatever goes wrong.
            call.note_model(&request);
            match shared.adapter.before_split(&request) {
                Some(work) => Ok(Step::Waiting(request, work)),
                None => call.prepare(request).map(Step::Prepared),
            }
        });
        (call, step.unwrap_or_else(Step::Failed))
    }

    /// Tells telemetry which model the request is for.
    fn note_model(&mut self, request: &Req) {
        let start = self.observers.start();
        if start.is_some() || !self.span.is_disabled() {
            if let Some(model) = self.shared.adapter.model(request) {
                spans::record_model(&self.span, model);
                start.into_iter().for_each(|start| start.model = Some(model.into()));
            }
        }
    }

    /// Takes the request apart, works out its budget, and opens the sources.
    fn prepare(&mut self, request: Req) -> Result<Gathering<A::Rest>, ContextError> {
        let shared = Arc::clone(&self.shared);
        let (whole, origin) =
            shared.budget.budget_and_origin(&request).map_err(ContextError::Budget)?;
        // Opening a source runs none of it, and the adapter is about to consume the request.
        let gather = (!shared.sources.is_empty())
            .then(|| Box::new(Gather::open(&shared.sources, &request, shared.gather_deadline)));
        let split = match shared.planning {
            Some(_) => shared.adapter.split_to_plan(request),
            None => shared.adapter.split(request),
        };
        let split = split.map_err(ContextError::Adapter)?;
        let Split {
            candidates,
            fixed_tokens,
            rest,
            source_frame_tokens,
            refused,
            uncounted,
            question,
        } = split;
        let frame_tokens = if gather.is_some() { source_frame_tokens } else { 0 };
        for (field, tokens) in
            [("fixed_tokens", fixed_tokens), ("source_frame_tokens", frame_tokens)]
        {
            if tokens < 0 {
                // Taken off the budget they would make it larger than the model's window.
                let problem = format!("{field} must be at least 0, got {tokens}");
                return Err(ContextError::Adapter(problem.into()));
            }
        }
        self.selection.refused = refused.len();
        self.selection.uncounted = uncounted;
        let arrivals = Arrivals::new(candidates, shared.sources.len());
        let came_with = match shared.waiting {
            Some(_) => arrivals.own.iter().map(ContextItem::future_relevance_hint).collect(),
            None => Vec::new(),
        };
        let explanation = Explanation { limits: Limits::of(&whole, origin), fixed_tokens: 0 };
        let mut gathering = Gathering {
            rest,
            gather,
            arrivals,
            beside: None,
            came_with,
            question,
            whole,
            frame_tokens,
            explanation,
            refused,
        };
        self.take_off(&mut gathering, fixed_tokens)?;
        Ok(gathering)
    }

    /// Takes so many more fixed tokens off the budget.
    pub(super) fn take_off(
        &mut self,
        gathering: &mut Gathering<A::Rest>,
        tokens: i64,
    ) -> Result<(), ContextError> {
        let Gathering { whole, explanation: Explanation { limits, fixed_tokens }, .. } = gathering;
        *fixed_tokens = fixed_tokens.saturating_add(tokens);
        let (fixed_tokens, available_tokens) = (*fixed_tokens, whole.available_tokens());
        self.selection.budget = without_fixed(whole, fixed_tokens).ok_or_else(|| {
            let limits = Box::new(*limits);
            ContextError::FixedTokens { fixed_tokens, available_tokens, limits }
        })?;
        self.selection.fixed_tokens = fixed_tokens;
        Ok(())
    }

    /// Goes as far as it can. Unless the answer is ready, the task will be woken to go on.
    pub(super) fn advance(
        &mut self,
        step: Step<Req, A::Rest>,
        cx: &mut Context<'_>,
    ) -> Result<Step<Req, A::Rest>, ContextError> {
        let span = self.span.clone();
        let _entered = span.enter();
        self.observers.begin(&self.shared.hooks);
        guarded(|| match step {
            Step::Failed(error) => Err(error),
            Step::Waiting(request, mut work) => match work.as_mut().poll(cx) {
                Poll::Pending => Ok(Step::Waiting(request, work)),
                Poll::Ready(()) => {
                    let gathering = self.prepare(request)?;
                    self.judge_and_gather(gathering, None, cx)
                }
            },
            Step::Prepared(gathering) => self.judge_and_gather(gathering, None, cx),
            Step::Judging(gathering, errand) => self.wait_for_judge(gathering, errand, cx),
            Step::Gathering(gathering) => self.gather(gathering, cx),
            Step::Selecting(rest, selecting) => self.wait_for_selection(rest, selecting, cx),
            Step::Ready(request) => Ok(Step::Ready(request)),
        })
    }

    fn judge_and_gather(
        &mut self,
        mut gathering: Gathering<A::Rest>,
        outcome: Option<Outcome>,
        cx: &mut Context<'_>,
    ) -> Result<Step<Req, A::Rest>, ContextError> {
        match self.judge(&mut gathering, outcome)? {
            None => {
                self.ask_beside(&mut gathering);
                self.gather(gathering, cx)
            }
            Some(errand) => self.wait_for_judge(gathering, errand, cx),
        }
    }

    fn wait_for_judge(
        &mut self,
        gathering: Gathering<A::Rest>,
        mut errand: Errand,
        cx: &mut Context<'_>,
    ) -> Result<Step<Req, A::Rest>, ContextError> {
        match errand.poll(cx) {
            Poll::Pending => Ok(Step::Judging(gathering, errand)),
            Poll::Ready(outcome) => self.judge_and_gather(gathering, Some(outcome), cx),
        }
    }

    fn gather(
        &mut self,
        mut gathering: Gathering<A::Rest>,
        cx: &mut Context<'_>,
    ) -> Result<Step<Req, A::Rest>, ContextError> {
        let Gathering { rest, gather, arrivals, beside, .. } = &mut gathering;
        // First, so that its work begins before that of the sources.
        let mut judged = arrivals.poll_beside(beside.as_deref_mut(), cx);
        if let Some(open) = gather {
            let (call, rest) = (&*self, &*rest);
            let polled = guarded(|| arrivals.poll(open, beside.as_deref_mut(), call, rest, cx));
            if let Ok(Poll::Pending) = polled {
                // About what has arrived meanwhile.
                let _ = arrivals.poll_beside(beside.as_deref_mut(), cx);
                return Ok(Step::Gathering(gathering));
            }
            self.selection.gather = open.take_report();
            *gather = None; // and its span with it
            if let Err(error) = polled {
                let report = beside.take().map(|beside| beside.into_report());
                self.selection.gather.judge = report;
                return Err(error);
            }
            judged = arrivals.poll_beside(beside.as_deref_mut(), cx);
        }
        if judged.is_pending() {
            return Ok(Step::Gathering(gathering));
        }
        let Gathering { rest, arrivals, beside, explanation, refused, .. } = gathering;
        self.selection.gather.judge = beside.map(|beside| beside.into_report());
        let job = Job {
            pipeline: self.pipeline_for(&arrivals).clone(),
            facts: Arc::clone(&self.shared.facts),
            arrivals,
            budget: self.budget().clone(),
            explanation,
            refused,
            watchers: self.observers.watchers(self.wants_report, self.shared.explain_scores),
            cost: Arc::clone(&self.shared.cost),
            span: self.span.clone(),
        };
        match self.shared.blocking_pool_for(&job) {
            None => self.join(rest, job.run()?),
            Some(pool) => self.wait_for_selection(rest, Selecting::start(&pool, job), cx),
        }
    }

    fn wait_for_selection(
        &mut self,
        rest: A::Rest,
        mut selecting: Selecting,
        cx: &mut Context<'_>,
    ) -> Result<Step<Req, A::Rest>, ContextError> {
        match selecting.poll(cx) {
            Poll::Pending => Ok(Step::Selecting(rest, selecting)),
            Poll::Ready(chosen) => self.join(rest, chosen?),
        }
    }

    /// Puts the selection back into the request, and tells everybody about it.
    fn join(
        &mut self,
        mut rest: A::Rest,
        chosen: Chosen,
    ) -> Result<Step<Req, A::Rest>, ContextError> {
        let Chosen { mut placed, report, stream, sources, candidates } = chosen;
        // What the adapter refused is among them; what it withdraws is no longer placed.
        let candidates = candidates + self.selection.refused;
        self.selection.report = report;
        self.selection.stream = stream;
        for (report, notes) in self.selection.gather.sources.iter_mut().zip(sources) {
            report.pins_lifted = notes.pins_lifted;
            report.broke_promise = notes.broke_promise;
        }
        let shared = Arc::clone(&self.shared);
        let adapter = &shared.adapter;
        let withdrawn = adapter.withdrawn(&rest, &placed);
        self.selection.refused += withdrawn.len();
        for (position, _) in withdrawn.iter().rev() {
            if *position < placed.len() {
                placed.remove(*position);
            }
        }
        if self.wants_report && !withdrawn.is_empty() {
            withdraw(&mut self.selection.report, withdrawn);
        }
        self.selection.sent = Sent::count(&placed, candidates);
        self.note_plan(&mut rest, &placed);
        let request = adapter.join(rest, placed).map_err(ContextError::Adapter)?;
        if self.wants_report {
            for hook in &self.shared.hooks {
                tell(|| hook.on_selection(&self.selection));
            }
        }
        self.observers.selected(&self.selection);
        spans::record_sent(&self.span, &self.selection);
        spans::tell_selected(&self.selection, candidates);
        if !self.caller_wants_report {
            discard(std::mem::take(&mut self.selection.report));
        }
        // The wrapped service is called beside the selection, not inside it.
        self.span = Span::none();
        Ok(Step::Ready(request))
    }

    /// Tells everybody that there is no selection.
    pub(super) fn fail(&mut self, error: &ContextError) {
        let span = std::mem::replace(&mut self.span, Span::none());
        record_failure(&span, error.name());
        let _entered = span.enter();
        let gather = &self.selection.gather;
        self.observers.failed(error, gather);
        for hook in &self.shared.hooks {
            tell(|| hook.on_failure(error, gather));
        }
    }
}

/// A call that came to no end of its own was cut off: by a panic, or by whoever dropped it.
impl<Req, A> Drop for Call<Req, A> {
    fn drop(&mut self) {
        let cut_off = if std::thread::panicking() { "Panicked" } else { "Cancelled" };
        record_failure(&self.span, cut_off);
    }
}

/// Runs adapters, budgets, scorers, slicers and placers: their panics are errors of this call.
fn guarded<T>(work: impl FnOnce() -> Result<T, ContextError>) -> Result<T, ContextError> {
    caught(work).unwrap_or_else(|message| Err(ContextError::Panicked { message }))
}

/// Runs a hook or an observer: its panics are noted, and no call fails for them.
pub(super) fn tell<T>(hook: impl FnOnce() -> T) -> Option<T> {
    let told = caught(hook);
    if told.is_err() {
        // Without the message, which may quote what was selected.
        tracing::error!(target: TARGET, "a selection hook panicked");
    }
    told.ok()
}

/// Drops a report; a long one where it holds nobody up.
fn discard(report: SelectionReport) {
    if report.excluded.len() >= LONG_REPORT {
        if let Ok(pool) = Handle::try_current() {
            pool.spawn_blocking(move || drop(report));
        }
    }
}

/// A report on so many items takes about a millisecond to drop.
const LONG_REPORT: usize = 10_000;

/// Moves what was selected and cannot be sent to the excluded items.
fn withdraw(report: &mut SelectionReport, withdrawn: Vec<(usize, String)>) {
    let withdrawn = withdrawn.into_iter().rev().filter_map(|(position, why)| {
        // The report lists the selection in the order in which it is placed.
        let is_there = position < report.included.len();
        let IncludedItem { item, score, details, .. } =
            is_there.then(|| report.included.remove(position))?;
        let reason = ExclusionReason::Filtered { filter_name: why };
        Some(ExcludedItem { item, score, reason, details })
    });
    let withdrawn: Vec<ExcludedItem> = withdrawn.collect();
    report.exclude(withdrawn);
}

impl From<GatherError> for ContextError {
    fn from(error: GatherError) -> Self {
        match error {
            GatherError::Required { name, outcome, cause } => Self::Source { name, outcome, cause },
            GatherError::NoTimer => Self::NoTimer,
        }
    }
}
