//! Summaries in a planned call: looks them up before the plan, and asks for missing ones behind it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::call::{LayerState, ReadRequest};
use super::compaction::CompactionSettings;
use super::compaction_task::{CompactionTask, SummaryJob, SummaryWork, within};
use super::summary_report::{SummaryProblem, SummaryReport};
use super::{ContextAdapter, ContextError};
use crate::conversation::plan::{
    ANY_CUT, PlanOutcome, Prices, SummaryCell, SummaryCells, SummaryRules, TurnFacts, TurnSummaries,
};
use crate::conversation::{Conversation, Texts};
use crate::gather::work_place::WorkPlace;
use crate::gather::{SummaryClaim, SummaryScope, new_timer};

/// Time between two looks at a summary that another replica makes.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The summaries of one call.
pub(super) struct SummaryCall {
    settings: Arc<CompactionSettings>,
    scope: SummaryScope,
    rules: SummaryRules,
    cells: SummaryCells,
    /// Summaries that are there.
    pub(super) given: TurnSummaries,
    /// Cells whose summaries are there.
    found: Vec<SummaryCell>,
    report: SummaryReport,
    jobs: Vec<SummaryJob>,
    input_cost: f64,
}

impl<Req: Send + 'static, A: ContextAdapter<Req> + 'static> LayerState<Req, A> {
    /// Looks up the summaries of a conversation. None if there are none to look for.
    pub(super) async fn summaries(
        self: &Arc<Self>,
        read: Box<ReadRequest<A::Rest>>,
        facts: TurnFacts,
        scope: Option<SummaryScope>,
        place: &WorkPlace,
    ) -> Result<(Box<ReadRequest<A::Rest>>, Option<Box<SummaryCall>>), ContextError> {
        let Some((compaction, scope)) = self.compaction.as_ref().zip(scope) else {
            return Ok((read, None));
        };
        let settings = Arc::clone(&compaction.settings);
        let rules = settings.rules(&scope.tenant);
        let own_rules = rules.clone();
        let cells = self.work(read, place, move |shared, ReadRequest { rest, talk, .. }| {
            let (planning, talk) = shared.planning.as_ref().zip(talk.as_deref())?;
            let texts = shared.adapter.texts(rest);
            Some(talk.summary_cells(&facts.turn(&planning.plan), &own_rules, &*texts))
        });
        let (mut read, cells) = cells.await?;
        let Some(cells) = cells else { return Ok((read, None)) };
        let given = TurnSummaries::new(rules.clone());
        let mut call = Box::new(SummaryCall {
            settings,
            scope,
            rules,
            cells,
            given,
            found: Vec::new(),
            report: SummaryReport::default(),
            jobs: Vec::new(),
            input_cost: 0.0,
        });
        call.look_up().await;
        let wait = call.settings.wait.filter(|_| call.report.lookup.is_none());
        if let Some(wait) = wait.filter(|_| call.missing().next().is_some()) {
            let work = self.work(read, place, move |shared, ReadRequest { rest, talk, .. }| {
                if let Some(talk) = talk.as_deref() {
                    let texts = shared.adapter.texts(rest);
                    let missing: Vec<SummaryCell> = call.missing().cloned().collect();
                    call.add_jobs(&missing, |_| ANY_CUT, talk, &*texts);
                }
                call
            });
            let waiting;
            (read, waiting) = work.await?;
            call = waiting;
            call.wait(wait).await;
        }
        Ok((read, Some(call)))
    }
}

impl SummaryCall {
    /// Cells before the cut without a summary.
    fn missing(&self) -> impl Iterator<Item = &SummaryCell> {
        let is_found = |cell: &SummaryCell| self.found.iter().any(|found| found.key == cell.key);
        let before = self.cells.wanted.iter().filter(|cell| self.cells.is_before_cut(cell));
        before.filter(move |cell| !is_found(cell))
    }

    /// Asks the store, once.
    async fn look_up(&mut self) {
        let cells = &self.cells.looked_up;
        if cells.is_empty() {
            return;
        }
        let keys: Vec<_> = cells.iter().map(|cell| cell.key).collect();
        let store = &self.settings.store;
        let found = async { store.find(&self.scope, &keys).await };
        let found = match within(self.settings.lookup_deadline, found).await {
            Ok(found) => found,
            Err(problem) => {
                self.report.lookup = Some(problem);
                return;
            }
        };
        self.report.lookup = None;
        self.report.ledger = found.ledger;
        self.found.clear();
        let mut given = TurnSummaries::new(self.rules.clone());
        for (cell, summary) in cells.iter().zip(found.summaries) {
            if let Some(summary) = summary {
                given = given.with(cell, summary);
                self.found.push(cell.clone());
            }
        }
        self.given = given;
    }

    /// Makes the missing summaries, and waits for them as long as it may.
    async fn wait(&mut self, wait: Duration) {
        let until = Instant::now() + wait;
        let jobs = std::mem::take(&mut self.jobs);
        let task = CompactionTask::new(&self.settings, self.scope.clone(), 0.0, jobs);
        let Some(task) = task else { return };
        let Ok(runtime) = Handle::try_current() else { return };
        let mut own = Some(runtime.spawn(task.run()));
        while self.missing().next().is_some() && Instant::now() < until {
            let timer = if own.is_some() { until } else { Instant::now() + LOOK_AGAIN };
            let Some(timer) = new_timer(timer.min(until)) else { return };
            let mut others = true;
            if let Some(task) = own.take() {
                match select(task, timer).await {
                    Either::Left((done, _)) => others = done.unwrap_or(false),
                    Either::Right((_, task)) => own = Some(task),
                }
            } else {
                timer.await;
            }
            self.look_up().await;
            if !others || self.report.lookup.is_some() {
                return;
            }
        }
    }

    fn add_jobs(
        &mut self,
        cells: &[SummaryCell],
        asked_at: impl Fn(&SummaryCell) -> i64,
        talk: &Conversation,
        texts: &dyn Texts,
    ) {
        let price = self.settings.compactor.price();
        for cell in cells {
            let work = self.settings.permit().map(|permit| SummaryWork {
                content: talk.cell_content(cell, texts).conversation(&*self.scope.conversation),
                limit: cell.limit,
                counter: talk.shared_counter(),
                permit,
            });
            let lease = work.as_ref().map(|_| self.settings.lease());
            let claim = SummaryClaim::new(cell.key, asked_at(cell), lease)
                .cost(price.cost(cell.tokens, cell.limit), self.settings.budget);
            self.jobs.push(SummaryJob { claim, work });
        }
    }

    /// Notes what the plan came to, and prepares the work on missing summaries.
    pub(super) fn planned(
        &mut self,
        cut: Option<usize>,
        planned: &PlanOutcome,
        fixed_tokens: i64,
        talk: &Conversation,
        texts: &dyn Texts,
    ) {
        self.cells.cut = cut;
        if let Some(block) = &planned.standing {
            self.report.placed.clone_from(&block.summaries);
            self.report.tokens = block.summary_tokens;
        }
        self.report.missing = self.missing().count();
        let wanted = &self.cells.wanted;
        self.report.problems =
            wanted.iter().filter_map(|cell| self.settings.problem(&cell.key)).collect();
        // A store that does not answer is not asked for more.
        if self.report.lookup.is_some() {
            return;
        }
        let price = self.settings.compactor.price();
        if price.input + price.output > 0.0 {
            let share = if planned.whole { 0 } else { planned.share };
            let sent = planned.pinned_tokens().saturating_add(share).saturating_add(fixed_tokens);
            let cached = planned.expected.cached_tokens.clamp(0, sent.max(0));
            self.input_cost = Prices::FREE_WRITES.cost(cached, 0, sent.saturating_sub(cached));
        }
        let is_found = |cell: &SummaryCell| self.found.iter().any(|found| found.key == cell.key);
        let open = wanted.iter().filter(|cell| !is_found(cell)).cloned();
        let (mut open, later): (Vec<SummaryCell>, Vec<SummaryCell>) =
            open.partition(|cell| !self.cells.is_before_cut(cell));
        // Beyond the share nothing is made. What is late must not appear under this cut all the same.
        let looked_up = self.cells.looked_up.iter().filter(|cell| !is_found(cell));
        let beyond = looked_up.filter(|cell| self.cells.is_before_cut(cell));
        let beyond = beyond.filter(|cell| !wanted.iter().any(|other| other.key == cell.key));
        let noted = beyond.map(|cell| SummaryJob {
            claim: SummaryClaim::new(cell.key, self.cells.asked_at(cell), None),
            work: None,
        });
        let noted: Vec<SummaryJob> = noted.collect();
        // Those that leave next are used longest, then the newest of those that have left.
        open.extend(later.into_iter().rev());
        let cells = self.cells.clone();
        self.add_jobs(&open, |cell| cells.asked_at(cell), talk, texts);
        self.jobs.extend(noted);
        self.report.asked = self.jobs.iter().filter(|job| job.work.is_some()).count();
    }

    /// Starts the work in the background. Nobody waits for it.
    pub(super) fn start(mut self) -> Box<SummaryReport> {
        let jobs = std::mem::take(&mut self.jobs);
        if jobs.is_empty() && self.input_cost <= 0.0 {
            return Box::new(self.report);
        }
        match Handle::try_current() {
            Ok(runtime) => {
                match CompactionTask::new(&self.settings, self.scope, self.input_cost, jobs) {
                    Some(task) => drop(runtime.spawn(task.run())),
                    None => self.report.asked = 0,
                }
            }
            Err(_) => {
                self.report.asked = 0;
                self.report.lookup.get_or_insert(SummaryProblem::NoTimer);
            }
        }
        Box::new(self.report)
    }
}
