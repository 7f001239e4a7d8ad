//! Candidates that have arrived for a call: kept in lists, or selected from while more arrives.

use std::task::{Context, Poll};

use super::judge_queue::{JudgeQueue, JudgeText, PlanAnswers};
use super::run::{Gather, GatherError, Sink};
use super::streaming::StreamingSelection;
use crate::model::ContextItem;
use crate::relevance::{JudgeOutcome, RelevanceReport};

/// The candidates so far.
pub(crate) struct Arrivals {
    pub(crate) own: Vec<ContextItem>,
    /// One list a source, in the order the sources were added.
    pub(crate) sources: Vec<Vec<ContextItem>>,
    /// Set once a layer that selects while gathering has to wait for a source; then the lists are
    /// empty.
    pub(crate) streaming: Option<Box<StreamingSelection>>,
    /// The judge's hints; none without a question.
    pub(crate) judged: Option<Box<JudgeOutcome>>,
    /// Set while an async judge runs.
    pub(crate) queue: Option<Box<JudgeQueue>>,
    /// Answers of the async judge about the texts of a plan.
    pub(crate) plan_answers: Option<PlanAnswers>,
}

/// Decides about arriving items on behalf of one call.
pub(crate) trait Intake {
    /// Gives items of a source the tokens they take in the request, and a hint where the plan has one.
    fn count(&mut self, source: usize, items: &mut [ContextItem]);

    /// Starts to select while items arrive; none if the layer selects at the end. `now` is set if
    /// there is something to wait for, or much has arrived.
    fn stream(&self, asked: bool, now: bool) -> Option<StreamingSelection>;
}

impl Arrivals {
    pub(crate) fn new(mut own: Vec<ContextItem>, sources: usize) -> Self {
        // A handle from an earlier call's source may be what this request is made of.
        own.iter_mut().for_each(|item| item.set_gathered(false));
        let sources = vec![Vec::new(); sources];
        Self { own, sources, streaming: None, judged: None, queue: None, plan_answers: None }
    }

    /// Returns true if candidates were judged by a question.
    pub(crate) fn is_asked(&self) -> bool {
        self.judged.as_ref().is_some_and(|judged| judged.report.asked)
    }

    /// Report on the question.
    pub(crate) fn relevance(&self) -> Option<&RelevanceReport> {
        self.judged.as_ref().map(|judged| &judged.report)
    }

    /// All lists: the request's own, then the sources'.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &[ContextItem]> {
        std::iter::once(&self.own).chain(&self.sources).map(Vec::as_slice)
    }

    pub(crate) fn len(&self) -> usize {
        let listed: usize = self.lists().map(<[_]>::len).sum();
        listed + self.streaming.as_ref().map_or(0, |streaming| streaming.len())
    }

    /// Takes items of a list, in their order: 0 is the request, the sources follow.
    fn take(&mut self, list: usize, items: Vec<ContextItem>) {
        if let Some(streaming) = &mut self.streaming {
            return streaming.take_all(list, items);
        }
        let known = match list.checked_sub(1) {
            None => Some(&mut self.own),
            Some(source) => self.sources.get_mut(source),
        };
        match known {
            Some(known) if known.is_empty() => *known = items,
            Some(known) => known.extend(items),
            None => {}
        }
    }

    /// Goes on with the async judge, and takes what it has let go. Ready when nothing waits for it.
    pub(crate) fn poll_judge(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(queue) = &mut self.queue else { return Poll::Ready(()) };
        let mut free: Vec<(usize, Vec<ContextItem>)> = Vec::new();
        let polled = queue.poll(cx, &mut |list, item| match free.last_mut() {
            Some((last, items)) if *last == list => items.push(item),
            _ => free.push((list, vec![item])),
        });
        if self.streaming.is_some() && !free.is_empty() {
            cx.waker().wake_by_ref(); // to score them, and to see whether more is needed
        }
        for (list, items) in free {
            self.take(list, items);
        }
        polled
    }

    /// Takes what the sources have. Ready when they have ended, been cut off, or are not needed
    /// any more.
    pub(crate) fn poll_sources(
        &mut self,
        cx: &mut Context<'_>,
        gather: &mut Gather,
        intake: &mut impl Intake,
    ) -> Poll<Result<(), GatherError>> {
        self.start_streaming(intake, false);
        loop {
            let mut sink = ArrivalSink { arrivals: self, intake };
            if let Poll::Ready(gathered) = gather.poll(cx, &mut sink) {
                return Poll::Ready(gathered);
            }
            if let Some(streaming) = &mut self.streaming {
                // Reading comes first: what takes long to score must not make a source late.
                if streaming.score_some() {
                    cx.waker().wake_by_ref();
                }
                return Poll::Pending;
            }
            // What is all there soon is better selected from at once.
            let soon = !gather.is_waiting() && self.len() <= MOST_LISTED;
            if soon || !self.start_streaming(intake, true) {
                return Poll::Pending;
            }
        }
    }

    /// Selects from what there is from now on, and from what comes when it comes.
    fn start_streaming(&mut self, intake: &impl Intake, now: bool) -> bool {
        if self.streaming.is_some() {
            return true;
        }
        let Some(mut streaming) = intake.stream(self.is_asked(), now) else { return false };
        streaming.take_all(0, std::mem::take(&mut self.own));
        for (list, items) in (1..).zip(&mut self.sources) {
            streaming.take_all(list, std::mem::take(items));
        }
        self.streaming = Some(Box::new(streaming));
        true
    }
}

/// Candidates that are ready at once, up to this many, are kept in lists and selected from together.
const MOST_LISTED: usize = 16_384;

/// Takes items from the sources, by way of the async judge if there is one.
struct ArrivalSink<'a, I> {
    arrivals: &'a mut Arrivals,
    intake: &'a mut I,
}

impl<I: Intake> Sink for ArrivalSink<'_, I> {
    fn accept(&mut self, source: usize, mut items: Vec<ContextItem>) {
        let list = source + 1;
        let Arrivals { judged, queue, .. } = &mut *self.arrivals;
        let hints = items.iter().map(ContextItem::future_relevance_hint);
        let came_with: Vec<Option<f64>> = match queue {
            Some(_) => hints.collect(),
            None => Vec::new(),
        };
        self.intake.count(source, &mut items);
        for item in &mut items {
            item.set_gathered(true);
            if let Some(judged) = judged {
                judged.further(item);
            }
        }
        if let Some(queue) = queue {
            let mut came_with = came_with.into_iter();
            items.retain(|item| {
                let came_with = came_with.next().flatten();
                let wanted = queue.wants(item, came_with);
                let held = wanted || queue.is_holding();
                if held {
                    let (text, tokens) = (item.shared_content(), item.tokens());
                    let asked = wanted.then_some(JudgeText { text, tokens, place: None });
                    queue.hold(list, item.clone(), came_with, asked);
                }
                !held
            });
        }
        self.arrivals.take(list, items);
    }

    fn is_settled(&mut self, is_open: &dyn Fn(usize) -> bool) -> bool {
        if self.arrivals.queue.as_ref().is_some_and(|queue| queue.is_holding()) {
            return false; // nobody knows what they will score
        }
        self.arrivals.streaming.as_ref().is_some_and(|streaming| streaming.is_settled(is_open))
    }
}
