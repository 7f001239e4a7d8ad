//! The steps of one call, each a function of plain values.

use std::sync::Arc;
use std::time::Duration;

use super::call_log::CallLog;
use super::compaction::Compaction;
use super::exchange::{ExchangeAnswers, OpenPlan};
use super::policy_handle::{JudgeRules, PlanRules, PolicyParts, PolicyRules};
use super::summary_report::SummaryReport;
use super::{
    BudgetOrigin, BudgetProvider, BuildError, ContextAdapter, ContextError, Selection,
    SelectionHook, Split, Strategy,
};
use crate::caught::caught;
use crate::conversation::Conversation;
use crate::conversation::edits::WrittenTurn;
use crate::conversation::plan::{PlanOutcome, ReportedRequest, TurnFacts};
use crate::conversation::tools::{FittedTools, ToolRoom};
use crate::gather::work_place::{NotRun, WorkNeed, WorkPlace};
use crate::gather::{
    Arrivals, Gather, LearnedCost, Source, SourceFacts, StreamingMode, SummaryScope, WaitingJudge,
};
use crate::model::{ContextBudget, ContextItem, PlacedItem, RefusedItem, ToolLimit};
use crate::pipeline::Pipeline;
use crate::policy::Policy;
use crate::relevance::{JudgeOutcome, JudgeTask, Question, Verdict};
use crate::tool_choice::ToolOffer;

/// Everything a call needs, shared by all calls.
pub(super) struct LayerState<Req, A> {
    pub(super) adapter: Arc<A>,
    pub(super) pipeline: Pipeline,
    /// Set when the question is used.
    pub(super) judging: Option<JudgeRules>,
    pub(super) rules: PolicyRules,
    pub(super) budget: Arc<dyn BudgetProvider<Req>>,
    pub(super) sources: Arc<[Source<Req>]>,
    pub(super) facts: Arc<[SourceFacts]>,
    pub(super) hooks: Arc<[Arc<dyn SelectionHook>]>,
    pub(super) gather_deadline: Duration,
    pub(super) ready_after_gathering: bool,
    pub(super) blocking_threshold: u64,
    pub(super) explain_scores: bool,
    pub(super) cost: Arc<LearnedCost>,
    /// Set when turns are planned.
    pub(super) planning: Option<PlanRules>,
    /// Limit for definitions of tools.
    pub(super) tools: ToolLimit,
    /// Set when items are selected while they arrive.
    pub(super) streaming: Option<Arc<StreamingMode>>,
    /// Set when summaries stand for what left the window.
    pub(super) compaction: Option<Compaction<Req>>,
    /// Answers of the async judge in exchanges that may go on.
    pub(super) exchanges: Arc<ExchangeAnswers>,
}

impl<Req, A> LayerState<Req, A> {
    /// The same layer with another policy.
    pub(super) fn with_policy(&self, policy: &Policy) -> Result<Self, BuildError> {
        let PolicyParts { pipeline, judging, planning, tools } =
            PolicyParts::of_policy(policy, &self.rules)?;
        Ok(Self {
            adapter: Arc::clone(&self.adapter),
            pipeline,
            judging,
            rules: self.rules.clone(),
            budget: Arc::clone(&self.budget),
            sources: Arc::clone(&self.sources),
            facts: Arc::clone(&self.facts),
            hooks: Arc::clone(&self.hooks),
            gather_deadline: self.gather_deadline,
            ready_after_gathering: self.ready_after_gathering,
            blocking_threshold: self.blocking_threshold,
            explain_scores: self.explain_scores,
            cost: Arc::default(),
            planning,
            tools,
            streaming: self.streaming.clone(),
            compaction: self.compaction.clone(),
            exchanges: Arc::default(),
        })
    }
}

/// A request that was read.
pub(super) struct ReadRequest<Rest> {
    pub(super) rest: Rest,
    pub(super) talk: Option<Box<Conversation>>,
    /// Its own candidates.
    pub(super) own: Vec<ContextItem>,
    /// Nanoseconds that working through its texts takes, about.
    pub(super) steps: u64,
}

/// A request that was judged, the question, and the judge's report.
type JudgedRequest<Rest> = (Box<ReadRequest<Rest>>, Option<Question>, Option<Box<JudgeOutcome>>);

/// Plan of one turn.
pub(super) struct PlannedTurn {
    pub(super) planned: PlanOutcome,
    /// Budget of what competes to be recalled, and of what is sent anyway.
    pub(super) limit: ContextBudget,
    /// The candidates and messages, for a report.
    pub(super) reported: ReportedRequest,
    /// Set while an async judge may still change what is recalled.
    pub(super) open: Option<Box<OpenPlan>>,
    /// Set when the judge failed.
    pub(super) judged: Option<Box<JudgeOutcome>>,
    /// Set when summaries were looked for.
    pub(super) summaries: Option<Box<SummaryReport>>,
}

/// A selection that has to be written.
pub(super) struct WriteTask {
    pub(super) placed: Vec<PlacedItem>,
    pub(super) turn: Option<Box<PlannedTurn>>,
    /// Number of candidates, the refused ones among them.
    pub(super) candidates: usize,
    pub(super) window: i64,
    /// Tools that are sent, unless all are.
    pub(super) tools: Option<Box<FittedTools>>,
}

/// A call before anything of it has been waited for.
pub(super) struct OpenedCall {
    /// Nanoseconds that reading the request takes, about.
    pub(super) reading: u64,
    pub(super) budget: ContextBudget,
    pub(super) origin: BudgetOrigin,
    /// The sources, unless there are none.
    pub(super) gather: Option<Box<Gather>>,
    /// The conversation whose summaries are used.
    pub(super) scope: Option<SummaryScope>,
}

impl<Req: Send + 'static, A: ContextAdapter<Req> + 'static> LayerState<Req, A> {
    /// Asks for the budget, and opens the sources.
    pub(super) fn open(
        &self,
        request: &Req,
        log: &mut CallLog,
    ) -> Result<OpenedCall, ContextError> {
        let facts = self.adapter.facts(request);
        log.note_model(facts.model);
        let reading = facts.steps;
        let budget = self.budget.budget_and_origin(request);
        let (budget, origin) = budget.map_err(ContextError::Budget)?;
        let open = || Box::new(Gather::open(&self.sources, request, self.gather_deadline));
        let gather = (!self.sources.is_empty()).then(open);
        let scope = self.compaction.as_ref().and_then(|it| (it.scope)(request));
        Ok(OpenedCall { reading, budget, origin, gather, scope })
    }

    /// Takes a request apart, on the blocking pool if that takes long.
    pub(super) async fn read(
        self: &Arc<Self>,
        request: Req,
        steps: u64,
        place: &WorkPlace,
    ) -> Result<Split<A::Rest>, ContextError> {
        let strategy = Strategy::of(self.planning.is_some());
        let shared = Arc::clone(self);
        let work = move || shared.adapter.split(request, strategy);
        place.run(steps, WorkNeed::Required, work).await?.map_err(ContextError::Adapter)
    }

    /// Works through the texts of a request, on the blocking pool if that takes long.
    pub(super) async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        mut read: Box<ReadRequest<A::Rest>>,
        place: &WorkPlace,
        work: impl FnOnce(&Self, &mut ReadRequest<A::Rest>) -> T + Send + 'static,
    ) -> Result<(Box<ReadRequest<A::Rest>>, T), ContextError> {
        let shared = Arc::clone(self);
        let steps = read.steps;
        let work = move || {
            let done = work(&shared, &mut read);
            (read, done)
        };
        Ok(place.run(steps, WorkNeed::Required, work).await?)
    }

    /// Returns true if the request does not fit with all its tools, and some may be left out.
    pub(super) fn lacks_room_for_tools(
        &self,
        read: &ReadRequest<A::Rest>,
        tools: &ToolOffer,
        room: ToolRoom,
    ) -> bool {
        read.talk.is_some() && room.limit(tools, &self.tools).is_some()
    }

    /// Chooses tools for a request that does not fit. None if all are sent.
    pub(super) async fn fit_tools(
        self: &Arc<Self>,
        read: Box<ReadRequest<A::Rest>>,
        tools: ToolOffer,
        room: ToolRoom,
        place: &WorkPlace,
    ) -> Result<(Box<ReadRequest<A::Rest>>, Option<Box<FittedTools>>), ContextError> {
        let fit = self.work(read, place, move |shared, ReadRequest { rest, talk, .. }| {
            let texts = shared.adapter.texts(rest);
            talk.as_mut()?.fit_tools(tools, &shared.tools, room, &*texts)
        });
        fit.await
    }

    /// The async judge, if there is one.
    pub(super) fn waiting(&self) -> Option<&WaitingJudge> {
        self.judging.as_ref()?.waiting.as_ref()
    }

    /// Returns true if the request is a conversation whose turns are planned.
    pub(super) fn plans(&self, read: &ReadRequest<A::Rest>) -> bool {
        self.planning.is_some() && read.talk.is_some()
    }

    /// Plans a turn: decides what is sent, has the rest judged, and finishes with the verdict. None if
    /// this turn cannot be planned.
    pub(super) async fn plan(
        self: &Arc<Self>,
        read: Box<ReadRequest<A::Rest>>,
        (facts, scope): (TurnFacts, Option<SummaryScope>),
        budget: &ContextBudget,
        wants_report: bool,
        place: &WorkPlace,
    ) -> Result<(Box<ReadRequest<A::Rest>>, Option<Box<PlannedTurn>>), ContextError> {
        let (mut read, mut summaries) = (read, None);
        if scope.is_some() {
            (read, summaries) = Box::pin(self.summaries(read, facts, scope, place)).await?;
        }
        let given = summaries.as_ref().map(|it| it.given.clone());
        let decide = self.work(read, place, move |shared, ReadRequest { rest, talk, .. }| {
            let (planning, talk) = shared.planning.as_ref().zip(talk.as_deref())?;
            let texts = shared.adapter.texts(rest);
            let mut turn = facts.turn(&planning.plan);
            turn.summaries = given.as_ref();
            let draft = talk.decide(&turn, &*texts)?;
            let task = shared.judging.as_ref().and_then(|_| draft.task(talk, &*texts));
            Some((draft, task))
        });
        let (read, decided) = decide.await?;
        let Some((draft, task)) = decided else { return Ok((read, None)) };
        // While items are selected as they arrive, the plan cannot wait for the judge.
        let is_open = self.waiting().is_some() && self.streaming.is_none();
        let open = task.clone().filter(|_| is_open).zip(read.talk.as_deref());
        let open = open.map(|(task, talk)| {
            Box::new(OpenPlan::new(&self.exchanges, talk, (draft.clone(), task), read.own.clone()))
        });
        let verdict = match task {
            Some(task) => self.judge(task, place).await,
            None => Ok(None),
        };
        let (verdict, judged) = match verdict {
            Ok(verdict) => (verdict, None),
            Err(problem) => {
                let judge = self.judging.as_ref().map_or("", |it| it.relevance.judge().name());
                (None, Some(Box::new(JudgeOutcome::of(judge, 0.0, Err(problem), &mut []))))
            }
        };
        let budget = budget.clone();
        let finish = self.work(read, place, move |shared, ReadRequest { rest, talk, own, .. }| {
            let talk = talk.as_deref()?;
            let texts = shared.adapter.texts(rest);
            let cut = draft.cut();
            let planned = draft.finish(verdict, talk, &*texts);
            if let Some(call) = &mut summaries {
                call.planned(cut, &planned, facts.fixed_tokens, talk, &*texts);
            }
            let limit = planned.prepare(own, &budget);
            let reported = match wants_report {
                true => talk.reported_request(own, &planned.parts, &*texts),
                false => ReportedRequest::default(),
            };
            let turn = PlannedTurn { planned, limit, reported, open, judged, summaries: None };
            Some((Box::new(turn), summaries))
        });
        let (read, finished) = finish.await?;
        let turn = finished.map(|(mut turn, summaries)| {
            turn.summaries = summaries.map(|call| call.start());
            turn
        });
        Ok((read, turn))
    }

    /// Has the candidates judged by the question, which a conversation knows itself.
    pub(super) async fn judge_own(
        self: &Arc<Self>,
        read: Box<ReadRequest<A::Rest>>,
        question: Option<Question>,
        judging: &JudgeRules,
        place: &WorkPlace,
    ) -> Result<JudgedRequest<A::Rest>, ContextError> {
        let task =
            self.work(read, place, move |shared, ReadRequest { rest, talk, own, .. }| match talk {
                Some(talk) => {
                    let texts = shared.adapter.texts(rest);
                    let question = talk.question(&*texts)?;
                    let task = talk.judge_task(&question, own, &*texts);
                    Some((question, task))
                }
                None => question.map(|question| {
                    let task = JudgeTask::of_contents(&question, own);
                    (question, task)
                }),
            });
        let (mut read, task) = task.await?;
        let Some((question, task)) = task else { return Ok((read, None, None)) };
        let verdict = self.judge(task, place).await;
        let (judge, blend) = (judging.relevance.judge(), judging.relevance.blended());
        let judged = JudgeOutcome::of(judge.name(), blend, verdict, &mut read.own);
        Ok((read, Some(question), Some(Box::new(judged))))
    }

    /// Takes out of what sources brought what the plan sends anyway. Returns it, for the report.
    pub(super) async fn take_repeats(
        self: &Arc<Self>,
        read: Box<ReadRequest<A::Rest>>,
        planned: Box<PlannedTurn>,
        arrivals: &mut Arrivals,
        place: &WorkPlace,
    ) -> Result<(Box<ReadRequest<A::Rest>>, Box<PlannedTurn>, Vec<RefusedItem>), ContextError> {
        let (mut own, mut lists) =
            (std::mem::take(&mut arrivals.own), std::mem::take(&mut arrivals.sources));
        let take = self.work(read, place, move |shared, ReadRequest { rest, talk, .. }| {
            let texts = shared.adapter.texts(rest);
            let taken = talk
                .as_deref()
                .map(|talk| talk.take_repeats(&planned.planned, &mut own, &mut lists, &*texts));
            (planned, own, lists, taken.unwrap_or_default())
        });
        let (read, (planned, own, lists, taken)) = take.await?;
        (arrivals.own, arrivals.sources) = (own, lists);
        let taken = taken.into_iter().map(|(item, why)| RefusedItem { item, why });
        Ok((read, planned, taken.collect()))
    }

    /// Writes a selection back into its request.
    pub(super) async fn write(
        self: &Arc<Self>,
        read: Box<ReadRequest<A::Rest>>,
        task: WriteTask,
        selection: &mut Selection,
        place: &WorkPlace,
    ) -> Result<Req, ContextError> {
        let shared = Arc::clone(self);
        let (steps, fixed_tokens) = (read.steps, selection.fixed_tokens);
        let (mut report, budget) =
            (std::mem::take(&mut selection.report), selection.budget.clone());
        let write = move || {
            let ReadRequest { rest, talk, .. } = *read;
            let WriteTask { placed, turn, candidates, window, tools } = task;
            let (planned, reported) = turn.map(|turn| (turn.planned, turn.reported)).unzip();
            let talk = talk.map(|talk| *talk);
            let texts = shared.adapter.texts(&rest);
            let listed = (candidates, &mut report);
            let mut written = WrittenTurn::new(talk, planned, placed, &budget, listed, &*texts);
            drop(texts);
            written.edits.fixed_tokens = fixed_tokens;
            written.edits.has_sources = !shared.sources.is_empty();
            written.edits.tools = tools.as_ref().map(|tools| tools.kept.clone());
            let sent = written.sent;
            let request = shared.adapter.join(rest, &mut written.edits)?;
            let tools = tools.map(|tools| written.edits.leave_out_tools(*tools));
            let plan = written.report(reported.unwrap_or_default(), window).map(Box::new);
            Ok((request, sent, plan, report, tools))
        };
        let written = place.run(steps, WorkNeed::Required, write).await?;
        let request;
        (request, selection.sent, selection.plan, selection.report, selection.tools) =
            written.map_err(ContextError::Adapter)?;
        if let Some(plan) = &selection.plan {
            plan.name_reasons(&mut selection.report);
        }
        Ok(request)
    }

    /// Runs the judge here, or on the blocking pool if it is slow. Whatever goes wrong costs the call the
    /// relevance and nothing else.
    pub(super) async fn judge(
        &self,
        task: JudgeTask,
        place: &WorkPlace,
    ) -> Result<Option<Verdict>, String> {
        let Some(judging) = &self.judging else { return Ok(None) };
        let (judge, cost) = (Arc::clone(judging.relevance.judge()), Arc::clone(&judging.cost));
        let candidates = task.candidates();
        let count = candidates.len();
        let steps = caught(|| judge.steps(&candidates)).ok().flatten();
        let steps = steps.unwrap_or_else(|| cost.of(count));
        drop(candidates);
        let work = move || {
            let begun = tokio::time::Instant::now();
            let verdict = task.run(&*judge);
            cost.note(count, begun.elapsed());
            verdict
        };
        let verdict = place.run(steps, WorkNeed::Optional, work).await;
        verdict.unwrap_or_else(|not_run| match not_run {
            NotRun::Panicked(_) => Err("panicked".to_owned()),
            NotRun::Cancelled => Err("was cancelled".to_owned()),
            NotRun::PoolBusy => Err("did not start: the blocking pool is busy".to_owned()),
        })
    }

    /// The pipeline for candidates that are planned, judged, or neither.
    pub(super) fn pipeline_for(&self, asked: bool, planned: bool) -> &Pipeline {
        match (&self.planning, &self.judging) {
            (Some(planning), _) if planned => &planning.pipeline,
            (_, Some(judging)) if asked => &judging.pipeline,
            _ => &self.pipeline,
        }
    }
}

/// Runs adapters, budgets, scorers, slicers and placers: their panics are errors of this call.
pub(super) fn guarded<T>(
    work: impl FnOnce() -> Result<T, ContextError>,
) -> Result<T, ContextError> {
    caught(work).unwrap_or_else(|message| Err(ContextError::Panicked { message }))
}
