//! Judging that would hold the executor, done on the blocking pool.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::runtime::Handle;
use tokio::time::Instant;
use tracing::Span;

use super::cost::Cost;
use super::pooled::Pooled;
use crate::gather::caught;
use crate::relevance::{Candidate, Judge, Question, Verdict};

/// What a judge has said, or what kept it from saying anything.
pub(super) type Outcome = Result<Option<Verdict>, String>;

/// Stands where a call's judge goes: it asks the judge at once if that is quick. With what takes
/// long it sends the judge on an errand, and says nothing; the desk of after the errand says what came
/// of it.
pub(super) struct Desk {
    judge: Arc<dyn Judge>,
    /// What the judge takes by the calls before, where it does not say.
    cost: Arc<Cost>,
    threshold: u64,
    span: Span,
    outcome: Option<Outcome>,
    errand: Mutex<Option<Errand>>,
}

impl Desk {
    pub(super) fn new(
        judge: &Arc<dyn Judge>,
        cost: &Arc<Cost>,
        threshold: u64,
        span: &Span,
        outcome: Option<Outcome>,
    ) -> Self {
        let (judge, cost, span) = (Arc::clone(judge), Arc::clone(cost), span.clone());
        Self { judge, cost, threshold, span, outcome, errand: Mutex::default() }
    }

    /// Whether the judge was asked elsewhere, and is not asked again.
    pub(super) fn is_told(&self) -> bool {
        self.outcome.is_some()
    }

    /// What kept the judge from saying anything elsewhere.
    pub(super) fn problem(&self) -> Option<&str> {
        self.outcome.as_ref()?.as_ref().err().map(String::as_str)
    }

    pub(super) fn take_errand(&self) -> Option<Errand> {
        self.errand.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn has_errand(&self) -> bool {
        self.errand.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The blocking pool, for what would hold the executor too long.
    fn pool_for(&self, candidates: &[Candidate<'_>]) -> Option<Handle> {
        let learned = || self.cost.of(candidates.len());
        let steps = self.judge.steps(candidates).unwrap_or_else(learned);
        // Without a runtime there is no executor to hold up either.
        if steps >= self.threshold { Handle::try_current().ok() } else { None }
    }
}

impl Judge for Desk {
    fn judge(&self, question: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict> {
        if let Some(outcome) = &self.outcome {
            return outcome.clone().ok().flatten();
        }
        let Some(pool) = self.pool_for(candidates) else {
            return timed(&*self.judge, &self.cost, question, candidates);
        };
        let errand = Errand::start(&pool, Work::new(self, question, candidates));
        *self.errand.lock().unwrap_or_else(PoisonError::into_inner) = Some(errand);
        None
    }

    fn name(&self) -> &str {
        self.judge.name()
    }
}

/// Asks a judge, and takes note of how long that takes.
fn timed(
    judge: &dyn Judge,
    cost: &Cost,
    question: &Question,
    candidates: &[Candidate<'_>],
) -> Option<Verdict> {
    let begun = Instant::now();
    let verdict = judge.judge(question, candidates);
    cost.note(candidates.len(), begun.elapsed());
    verdict
}

/// What is to be judged, with texts of its own.
struct Work {
    judge: Arc<dyn Judge>,
    cost: Arc<Cost>,
    question: Question,
    /// All texts in a row.
    texts: String,
    /// Where each text ends, its tokens and its place.
    candidates: Vec<(usize, i64, Option<usize>)>,
    span: Span,
}

impl Work {
    fn new(desk: &Desk, question: &Question, candidates: &[Candidate<'_>]) -> Self {
        let bytes = candidates.iter().map(|candidate| candidate.text.len()).sum();
        let mut texts = String::with_capacity(bytes);
        let own = candidates.iter().map(|candidate| {
            texts.push_str(candidate.text);
            (texts.len(), candidate.tokens, candidate.place)
        });
        let candidates = own.collect();
        let (judge, cost) = (Arc::clone(&desk.judge), Arc::clone(&desk.cost));
        let (question, span) = (question.clone(), desk.span.clone());
        Self { judge, cost, question, texts, candidates, span }
    }

    fn run(&self) -> Outcome {
        let _entered = self.span.enter();
        let mut start = 0;
        let mut candidates = Vec::with_capacity(self.candidates.len());
        for (end, tokens, place) in &self.candidates {
            let mut candidate = Candidate::new(self.texts.get(start..*end).unwrap_or(""), *tokens);
            candidate.place = *place;
            candidates.push(candidate);
            start = *end;
        }
        // What its panic says may quote a text, so it is not repeated.
        caught(|| timed(&*self.judge, &self.cost, &self.question, &candidates))
            .map_err(|_| "panicked".to_owned())
    }
}

/// A judge at work on the blocking pool.
pub(super) struct Errand(Pooled<Outcome>);

impl Errand {
    fn start(pool: &Handle, work: Work) -> Self {
        Self(Pooled::start(pool, move || work.run()))
    }

    /// Whatever goes wrong costs the call the relevance and nothing else.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let outcome = ready!(self.0.poll(cx));
        Poll::Ready(outcome.unwrap_or_else(|error| {
            Err(if error.is_cancelled() { "was cancelled" } else { "panicked" }.to_owned())
        }))
    }
}
