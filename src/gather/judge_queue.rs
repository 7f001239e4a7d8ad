//! State of one call's async judge: the texts it is asked about, and the items that wait for it.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use tokio::time::{Instant, Sleep};
use tracing::Span;

use super::async_judge::{JudgeWork, WaitingJudge};
use super::report::{JudgeReport, SourceOutcome};
use super::run::new_timer;
use super::{BoxError, spans};
use crate::caught::{caught, discard};
use crate::model::ContextItem;
use crate::relevance::blend::mixed;
use crate::relevance::{Candidate, JudgeTask, Question, Verdict, is_said, lend_hints};

/// Asks a judge in batches, and holds items back until it has answered.
///
/// Items leave in the order in which they came: one that is not asked about waits behind those that
/// are, so each list keeps its order.
pub(crate) struct JudgeQueue {
    settings: WaitingJudge,
    /// The judge's share in the hint of an item that came with one.
    blend: f64,
    question: Question,
    /// Texts of a plan, which are asked about first.
    plan: Option<PlanTexts>,
    /// The conversation that the request's own candidates are, if neighbours lend.
    talk: Option<OwnTalk>,
    held: VecDeque<HeldItem>,
    /// The batch that is being judged, and the judge at work.
    batch: Option<(Batch, Answers)>,
    work: Arc<JudgeWork>,
    deadline: Duration,
    started: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    /// `true` if the judge is not asked any more.
    over: bool,
    report: JudgeReport,
    span: Span,
}

type Answers = BoxFuture<'static, Result<Vec<f64>, BoxError>>;

/// Texts that a judge is asked about at once.
#[derive(Clone, Copy)]
enum Batch {
    /// Those of the plan.
    Plan,
    /// So many of the held items.
    Held(usize),
}

/// Texts before the cut of a planned conversation.
struct PlanTexts {
    task: Arc<JudgeTask>,
    /// One for each text, in their order; none of a text whose answer is not believed.
    answers: Option<PlanAnswers>,
}

/// The request's own candidates as neighbours.
struct OwnTalk {
    texts: Vec<JudgeText>,
    /// Their hints by the policy's own judge, without what neighbours lent.
    alone: Vec<f64>,
}

struct HeldItem {
    /// 0 for the request's own candidates, then the sources.
    list: usize,
    /// Position in its list, for the request's own candidates.
    index: usize,
    item: ContextItem,
    came_with: Option<f64>,
    asked: Option<JudgeText>,
}

/// Text of an item, as the judge sees it.
#[derive(Clone)]
pub(crate) struct JudgeText {
    pub(crate) text: Arc<str>,
    pub(crate) tokens: i64,
    pub(crate) place: Option<usize>,
}

impl JudgeText {
    fn candidate(&self) -> Candidate<'_> {
        Candidate { text: &self.text, tokens: self.tokens, place: self.place }
    }
}

impl JudgeQueue {
    pub(crate) fn new(
        settings: &WaitingJudge,
        blend: f64,
        question: Question,
        gather_deadline: Duration,
    ) -> Self {
        let report = JudgeReport::new(settings.judge.name());
        Self {
            deadline: settings.deadline.min(gather_deadline),
            settings: settings.clone(),
            blend,
            question,
            plan: None,
            talk: None,
            held: VecDeque::new(),
            batch: None,
            work: Arc::default(),
            started: None,
            timer: None,
            over: false,
            report,
            span: Span::none(),
        }
    }

    /// Returns true if anything waits.
    pub(crate) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns true if the judge is asked about an item: it competes, and its hint can change.
    pub(crate) fn wants(&self, item: &ContextItem, came_with: Option<f64>) -> bool {
        let is_own = came_with.is_none_or(|hint| !hint.is_finite());
        !self.over
            && !item.pinned()
            && item.future_relevance_hint().is_some()
            && (is_own || self.blend > 0.0)
    }

    /// Asks about the texts of a plan, before anything else.
    pub(crate) fn ask_about_plan(&mut self, task: Arc<JudgeTask>) {
        self.plan = Some(PlanTexts { task, answers: None });
    }

    /// Asks about the request's own candidates. Returns those that need not wait. With the verdict of the
    /// policy's judge on a conversation, neighbours lend each other of the mixed hints.
    pub(crate) fn hold_own(
        &mut self,
        own: Vec<ContextItem>,
        came_with: &[Option<f64>],
        verdict: Option<&Verdict>,
        text: impl Fn(usize, &ContextItem) -> Arc<str>,
    ) -> Vec<ContextItem> {
        let mut free = Vec::new();
        let told = |index: usize, item: &ContextItem| {
            let place = is_said(item).then_some(index);
            JudgeText { text: text(index, item), tokens: item.tokens(), place }
        };
        self.talk = verdict.map(|verdict| OwnTalk {
            texts: own.iter().enumerate().map(|(index, item)| told(index, item)).collect(),
            alone: (0..own.len()).map(|index| verdict.alone(index).unwrap_or(0.0)).collect(),
        });
        for (index, item) in own.into_iter().enumerate() {
            let came_with = came_with.get(index).copied().flatten();
            let wanted = self.wants(&item, came_with);
            if !wanted && !self.is_holding() {
                free.push(item);
                continue;
            }
            let known = || self.talk.as_ref().and_then(|talk| talk.texts.get(index).cloned());
            let asked = wanted.then(|| known().unwrap_or_else(|| told(index, &item)));
            self.held.push_back(HeldItem { list: 0, index, item, came_with, asked });
        }
        free
    }

    /// Keeps an item back.
    pub(crate) fn hold(
        &mut self,
        list: usize,
        item: ContextItem,
        came_with: Option<f64>,
        asked: Option<JudgeText>,
    ) {
        self.held.push_back(HeldItem { list, index: 0, item, came_with, asked });
    }

    /// Goes as far as it can, and lets go of what need not wait any more. Ready when nothing waits.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        release: &mut dyn FnMut(usize, ContextItem),
    ) -> Poll<()> {
        let started = *self.started.get_or_insert_with(|| {
            self.span = spans::judge(&self.report.name);
            self.report.started_at = Some(SystemTime::now());
            Instant::now()
        });
        let span = self.span.clone();
        let _entered = span.enter();
        while !self.over && self.is_asking() {
            let (batch, mut answers) = match self.batch.take() {
                Some(batch) => batch,
                None => self.ask(),
            };
            let polled = caught(|| answers.as_mut().poll(cx));
            if let Ok(Poll::Pending) = polled {
                self.batch = Some((batch, answers));
                // What is ready was read first: now it may be too late for the rest.
                match self.is_late(cx, started) {
                    Ok(false) => return Poll::Pending,
                    Ok(true) => self.end(SourceOutcome::TimedOut),
                    Err(error) => self.end(SourceOutcome::Failed { error }),
                }
                break;
            }
            discard(answers);
            match polled {
                Ok(Poll::Ready(Ok(answers))) => match batch {
                    Batch::Plan => self.take_plan(&answers),
                    Batch::Held(count) => self.take(count, &answers, release),
                },
                Ok(Poll::Ready(Err(error))) => {
                    self.end(SourceOutcome::of_error(&error));
                    discard(error);
                }
                Err(message) => self.end(SourceOutcome::Panicked { message }),
                Ok(Poll::Pending) => {}
            }
            self.report.elapsed = started.elapsed();
        }
        for HeldItem { list, item, .. } in self.held.drain(..) {
            release(list, item);
        }
        Poll::Ready(())
    }

    /// Returns true if there is something to ask about.
    fn is_asking(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.answers.is_none())
            || self.held.iter().any(|held| held.asked.is_some())
    }

    /// Asks about the plan, then about all that waits. The judge itself runs when it is polled.
    fn ask(&mut self) -> (Batch, Answers) {
        let (judge, question) = (Arc::clone(&self.settings.judge), self.question.clone());
        let work = Arc::clone(&self.work);
        if let Some(plan) = self.plan.as_ref().filter(|plan| plan.answers.is_none()) {
            let task = Arc::clone(&plan.task);
            self.report.texts += task.len();
            let asked =
                async move { judge.judge_counted(&question, &task.candidates(), &work).await };
            return (Batch::Plan, Box::pin(asked));
        }
        let texts: Vec<JudgeText> =
            self.held.iter().filter_map(|held| held.asked.clone()).collect();
        self.report.texts += texts.len();
        let answers = Box::pin(async move {
            let candidates: Vec<Candidate<'_>> = texts.iter().map(JudgeText::candidate).collect();
            judge.judge_counted(&question, &candidates, &work).await
        });
        (Batch::Held(self.held.len()), answers)
    }

    /// Takes the answers about the plan.
    fn take_plan(&mut self, answers: &[f64]) {
        let asked = self.plan.as_ref().map_or(0, |plan| plan.task.len());
        if answers.len() != asked {
            return self.end(wrong_count(answers.len(), asked));
        }
        let answers = answers.iter().map(|answer| self.believed(*answer)).collect();
        if let Some(plan) = &mut self.plan {
            plan.answers = Some(answers);
        }
    }

    /// Gives a batch its answers, and lets go of it.
    fn take(&mut self, count: usize, answers: &[f64], release: &mut dyn FnMut(usize, ContextItem)) {
        let asked = self.held.iter().take(count).filter(|held| held.asked.is_some()).count();
        if answers.len() != asked {
            return self.end(wrong_count(answers.len(), asked));
        }
        let mut answers = answers.iter();
        let batch: Vec<HeldItem> = self.held.drain(..count.min(self.held.len())).collect();
        let mut answered: Vec<(HeldItem, Option<f64>)> = Vec::with_capacity(batch.len());
        for held in batch {
            let answer = held.asked.as_ref().and_then(|_| answers.next());
            let answer = answer.and_then(|answer| self.believed(*answer));
            answered.push((held, answer));
        }
        // The first batch has all of the request's own candidates.
        let lent = self.talk.take().map(|talk| self.lend(&talk, &answered));
        for (mut held, answer) in answered {
            if let Some(answer) = answer {
                let lent = lent.as_ref().filter(|_| held.list == 0);
                match lent.and_then(|lent| lent.get(held.index)) {
                    Some(lent) => put(&mut held, *lent, self.blend),
                    None => give(&mut held, answer, self.settings.weight, self.blend),
                }
            }
            release(held.list, held.item);
        }
    }

    /// An answer as it is used. None, and a note in the report, if it is not believed.
    fn believed(&mut self, answer: f64) -> Option<f64> {
        let believed = self.settings.believed(answer);
        match believed {
            Some(_) => self.report.judged += 1,
            None => {
                let error = format!("gave a hint of {answer}, expected a number from 0 to 1");
                self.report.outcome = SourceOutcome::Failed { error };
            }
        }
        believed
    }

    /// Mixes the answers with what the policy's judge said of each text alone, and lets neighbours lend.
    fn lend(&self, talk: &OwnTalk, answered: &[(HeldItem, Option<f64>)]) -> Vec<f64> {
        let mut hints = talk.alone.clone();
        for (held, answer) in answered.iter().filter(|(held, _)| held.list == 0) {
            let hint = hints.get_mut(held.index).zip(*answer);
            hint.into_iter().for_each(|(hint, answer)| {
                *hint = mixed(*hint, answer, self.settings.weight);
            });
        }
        let candidates: Vec<Candidate<'_>> = talk.texts.iter().map(JudgeText::candidate).collect();
        lend_hints(&self.question, &candidates, &mut hints);
        hints
    }

    /// Has the task woken when the time is up; says whether it already is.
    fn is_late(&mut self, cx: &mut Context<'_>, started: Instant) -> Result<bool, String> {
        let Some(deadline) = started.checked_add(self.deadline) else { return Ok(false) };
        let timer = match &mut self.timer {
            Some(timer) => timer,
            none => none.insert(new_timer(deadline).ok_or_else(|| {
                "has to be waited for, and there is no Tokio timer to end the wait".to_owned()
            })?),
        };
        Ok(timer.as_mut().poll(cx).is_ready())
    }

    /// Asks the judge no more. What it has answered stays.
    fn end(&mut self, outcome: SourceOutcome) {
        self.over = true;
        self.report.outcome = outcome;
        self.report.elapsed = self.started.map_or(Duration::ZERO, |started| started.elapsed());
        if let Some((_, answers)) = self.batch.take() {
            discard(answers);
        }
    }

    /// Ends the judge if it is still at work. Returns its report, and its answers about the plan.
    pub(crate) fn finish(mut self) -> (JudgeReport, Option<PlanAnswers>) {
        if self.is_holding() || (!self.over && self.is_asking()) {
            self.end(SourceOutcome::Abandoned);
        }
        self.report.requests = self.work.requests();
        self.report.cached = self.work.cached();
        self.report.record(&self.span);
        (self.report, self.plan.and_then(|plan| plan.answers))
    }
}

/// Answers about the texts of a plan, in their order; none of a text whose answer is not believed.
pub(crate) type PlanAnswers = Vec<Option<f64>>;

fn wrong_count(got: usize, asked: usize) -> SourceOutcome {
    let error = format!("gave {got} hints, expected one for each of {asked} texts");
    SourceOutcome::Failed { error }
}

/// Puts the judges' common hint in its place, or beside the hint that the item came with.
fn put(held: &mut HeldItem, judged: f64, blend: f64) {
    let value = match held.came_with.filter(|hint| hint.is_finite()) {
        None => judged,
        Some(own) => own * (1.0 - blend) + judged * blend,
    };
    held.item.set_hint_value(value);
}

/// Mixes an answer into the hint that the policy's judge gave.
fn give(held: &mut HeldItem, answer: f64, weight: f64, blend: f64) {
    let Some(hint) = held.item.future_relevance_hint() else { return };
    let value = match held.came_with.filter(|hint| hint.is_finite()) {
        None => mixed(hint, answer, weight),
        // The hint holds `blend` of the judge's: that part is mixed, and the rest stays.
        Some(own) => {
            let judged = (hint - own * (1.0 - blend)) / blend;
            own * (1.0 - blend) + mixed(judged, answer, weight) * blend
        }
    };
    held.item.set_hint_value(value);
}
