//! State of one call's async judge: the texts it is asked about, and the items that wait for it.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::{Instant, Sleep};
use tracing::Span;

use super::async_judge::WaitingJudge;
use super::report::{JudgeReport, SourceOutcome};
use super::run::new_timer;
use super::{BoxError, spans};
use crate::caught::{caught, discard};
use crate::model::ContextItem;
use crate::relevance::blend::mixed;
use crate::relevance::{Candidate, Question, is_said};

/// Asks a judge in batches, and holds items back until it has answered.
///
/// Items leave in the order in which they came: one that is not asked about waits behind those that
/// are, so each list keeps its order.
pub(crate) struct JudgeQueue {
    settings: WaitingJudge,
    /// The judge's share in the hint of an item that came with one.
    blend: f64,
    question: Question,
    held: VecDeque<HeldItem>,
    /// The batch that is being judged: so many of the held items, and the judge at work.
    batch: Option<(usize, Answers)>,
    deadline: Duration,
    started: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    /// `true` if the judge is not asked any more.
    over: bool,
    report: JudgeReport,
    span: Span,
}

type Answers = BoxFuture<'static, Result<Vec<f64>, BoxError>>;

struct HeldItem {
    /// 0 for the request's own candidates, then the sources.
    list: usize,
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
            held: VecDeque::new(),
            batch: None,
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

    /// Asks about the request's own candidates. Returns those that need not wait.
    pub(crate) fn hold_own(
        &mut self,
        own: Vec<ContextItem>,
        came_with: &[Option<f64>],
        text: impl Fn(usize, &ContextItem) -> Arc<str>,
    ) -> Vec<ContextItem> {
        let mut free = Vec::new();
        for (index, item) in own.into_iter().enumerate() {
            let came_with = came_with.get(index).copied().flatten();
            let wanted = self.wants(&item, came_with);
            if !wanted && !self.is_holding() {
                free.push(item);
                continue;
            }
            let asked = wanted.then(|| {
                let place = is_said(&item).then_some(index);
                JudgeText { text: text(index, &item), tokens: item.tokens(), place }
            });
            self.hold(0, item, came_with, asked);
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
        self.held.push_back(HeldItem { list, item, came_with, asked });
    }

    /// Goes as far as it can, and lets go of what need not wait any more. Ready when nothing waits.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        release: &mut dyn FnMut(usize, ContextItem),
    ) -> Poll<()> {
        let started = *self.started.get_or_insert_with(|| {
            self.span = spans::judge(&self.report.name);
            Instant::now()
        });
        let span = self.span.clone();
        let _entered = span.enter();
        while !self.over && self.held.iter().any(|held| held.asked.is_some()) {
            let (count, mut answers) = match self.batch.take() {
                Some(batch) => batch,
                None => self.ask(),
            };
            let polled = caught(|| answers.as_mut().poll(cx));
            if let Ok(Poll::Pending) = polled {
                self.batch = Some((count, answers));
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
                Ok(Poll::Ready(Ok(answers))) => self.take(count, &answers, release),
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

    /// Asks about all that waits. The judge itself runs when it is polled.
    fn ask(&mut self) -> (usize, Answers) {
        let texts: Vec<JudgeText> =
            self.held.iter().filter_map(|held| held.asked.clone()).collect();
        self.report.texts += texts.len();
        let (judge, question) = (Arc::clone(&self.settings.judge), self.question.clone());
        let answers = Box::pin(async move {
            let candidates: Vec<Candidate<'_>> = texts.iter().map(JudgeText::candidate).collect();
            judge.judge(&question, &candidates).await
        });
        (self.held.len(), answers)
    }

    /// Gives a batch its answers, and lets go of it.
    fn take(&mut self, count: usize, answers: &[f64], release: &mut dyn FnMut(usize, ContextItem)) {
        let asked = self.held.iter().take(count).filter(|held| held.asked.is_some()).count();
        if answers.len() != asked {
            let got = answers.len();
            let error = format!("gave {got} hints, expected one for each of {asked} texts");
            return self.end(SourceOutcome::Failed { error });
        }
        let mut answers = answers.iter();
        for mut held in self.held.drain(..count.min(self.held.len())) {
            if let Some(answer) = held.asked.as_ref().and_then(|_| answers.next()) {
                match self.settings.believed(*answer) {
                    Some(answer) => {
                        give(&mut held, answer, self.settings.weight, self.blend);
                        self.report.judged += 1;
                    }
                    None => {
                        let error =
                            format!("gave a hint of {answer}, expected a number from 0 to 1");
                        self.report.outcome = SourceOutcome::Failed { error };
                    }
                }
            }
            release(held.list, held.item);
        }
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

    /// Ends the judge if it is still at work, and reports on it.
    pub(crate) fn into_report(mut self) -> JudgeReport {
        if self.is_holding() {
            self.end(SourceOutcome::Abandoned);
        }
        self.report.record(&self.span);
        self.report
    }
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
