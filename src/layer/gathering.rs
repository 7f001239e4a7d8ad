//! Gathers: the sources deliver, an async judge runs beside them, and items are counted as they arrive.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use super::call::{LayerState, ReadRequest, guarded};
use super::{ContextAdapter, ContextError};
use crate::conversation::plan::{PlanOutcome, Quotation};
use crate::gather::{
    Arrivals, Gather, GatherReport, Intake, JudgeQueue, Source, StreamingSelection,
};
use crate::model::{ContextBudget, ContextItem};
use crate::relevance::Question;

impl<Req: Send + 'static, A: ContextAdapter<Req> + 'static> LayerState<Req, A> {
    /// The async judge, if the policy's own judge has found something to go by.
    pub(super) fn judge_queue(
        &self,
        planned: Option<&PlanOutcome>,
        arrivals: &Arrivals,
        question: Option<Question>,
    ) -> Option<JudgeQueue> {
        let judging = self.judging.as_ref()?;
        let waiting = judging.waiting.as_ref()?;
        // A plan keeps the hints that things came with, and goes by the user's last words alone.
        let (asked, blend, question) = match planned {
            Some(planned) => (planned.is_judged(), 0.0, question?.alone()),
            None => (arrivals.is_asked(), judging.relevance.blended(), question?),
        };
        asked.then(|| JudgeQueue::new(waiting, blend, question, self.gather_deadline))
    }

    /// Gathers from the sources until they have ended or their time is up.
    pub(super) async fn gather(
        &self,
        mut gather: Option<Box<Gather>>,
        arrivals: &mut Arrivals,
        mut intake: CallIntake<'_, Req, A>,
        report: &mut GatherReport,
    ) -> Result<(), ContextError> {
        if gather.is_none() && arrivals.queue.is_none() {
            return Ok(());
        }
        let gathered = poll_fn(|cx| {
            // First, so that its work begins before that of the sources.
            let mut judged = arrivals.poll_judge(cx);
            if let Some(open) = &mut gather {
                let polled = guarded(|| {
                    let polled = arrivals.poll_sources(cx, open, &mut intake);
                    Ok(polled.map_err(ContextError::from))
                });
                let outcome = match polled {
                    Ok(Poll::Pending) => {
                        // About what has arrived meanwhile.
                        let _ = arrivals.poll_judge(cx);
                        return Poll::Pending;
                    }
                    Ok(Poll::Ready(outcome)) => outcome,
                    Err(error) => Err(error),
                };
                *report = open.take_report();
                gather = None; // and its span with it
                if outcome.is_err() {
                    return Poll::Ready(outcome);
                }
                judged = arrivals.poll_judge(cx);
            }
            judged.map(Ok)
        });
        let gathered = gathered.await;
        if let Some(queue) = arrivals.queue.take() {
            let (judge, answers) = queue.finish();
            report.judge = Some(judge);
            arrivals.plan_answers = answers;
        }
        gathered
    }
}

/// Counts the items of sources, and starts to select while they arrive.
pub(super) struct CallIntake<'a, Req, A: ContextAdapter<Req>> {
    pub(super) shared: &'a LayerState<Req, A>,
    pub(super) read: &'a mut ReadRequest<A::Rest>,
    pub(super) planned: Option<&'a PlanOutcome>,
    pub(super) limit: &'a ContextBudget,
    pub(super) wants_report: bool,
    pub(super) recounts: bool,
}

impl<Req: Send + 'static, A: ContextAdapter<Req> + 'static> Intake for CallIntake<'_, Req, A> {
    fn count(&mut self, source: usize, items: &mut [ContextItem]) {
        let adapter = &self.shared.adapter;
        let ReadRequest { rest, talk, .. } = &*self.read;
        let Some(talk) = talk else {
            for item in items {
                let tokens = adapter.source_item_tokens(rest, item);
                item.set_tokens(tokens);
            }
            return;
        };
        let name = self.shared.sources.get(source).map_or("", Source::name);
        let texts = adapter.texts(rest);
        for item in items {
            if let Some(planned) = self.planned.filter(|_| item.future_relevance_hint().is_none()) {
                if let Some(hint) = planned.hint(item.content(), item.tokens()) {
                    item.set_hint(hint);
                }
            }
            let text = texts.source(item);
            let tokens = Quotation::item_tokens(name, item, &text, talk.token_counter());
            item.set_tokens(tokens);
        }
    }

    fn stream(&self, asked: bool, now: bool) -> Option<StreamingSelection> {
        let mode = self.shared.streaming.as_ref().filter(|mode| now || mode.is_watched())?;
        Some(StreamingSelection::new(
            self.shared.pipeline_for(asked, self.planned.is_some()),
            mode,
            Arc::clone(&self.shared.facts),
            self.limit.clone(),
            Arc::clone(&self.shared.cost),
            self.wants_report,
            self.recounts || self.planned.is_some(),
        ))
    }
}
