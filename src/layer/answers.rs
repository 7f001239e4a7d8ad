//! Finishes a plan with the answers of an async judge.

use std::sync::Arc;

use super::call::{LayerState, PlannedTurn, ReadRequest};
use super::exchange::{KeptAnswers, OpenPlan};
use super::{ContextAdapter, ContextError};
use crate::gather::work_place::WorkPlace;
use crate::gather::{Arrivals, JudgeReport, PlanAnswers};
use crate::model::ContextBudget;

/// A request that was read, and its plan.
type PlannedRequest<Rest> = (Box<ReadRequest<Rest>>, Box<PlannedTurn>);

impl<Req: Send + 'static, A: ContextAdapter<Req> + 'static> LayerState<Req, A> {
    /// Has an async judge's answers decide about the recalled part: those of the call before in this exchange,
    /// or those of this call, which are kept for the rest of it.
    pub(super) async fn use_answers(
        self: &Arc<Self>,
        read: Box<ReadRequest<A::Rest>>,
        turn: Box<PlannedTurn>,
        kept: Option<KeptAnswers>,
        (budget, place): ((&ContextBudget, bool), &WorkPlace),
        arrivals: &mut Arrivals,
        report: &mut Option<JudgeReport>,
    ) -> Result<PlannedRequest<A::Rest>, ContextError> {
        let Some(open) = &turn.open else { return Ok((read, turn)) };
        let answers = match kept {
            Some(kept) => {
                let name = self.waiting().map_or("", |waiting| waiting.judge.name());
                let report = report.get_or_insert_with(|| JudgeReport::not_asked(name));
                report.reused = true;
                report.judged += kept.as_ref().map_or(0, |kept| kept.iter().flatten().count());
                kept
            }
            None if report.is_none() => return Ok((read, turn)),
            None => {
                let answers = arrivals.plan_answers.take();
                let answers = answers.filter(|it| it.iter().any(Option::is_some)).map(Arc::new);
                self.exchanges.keep(&open.exchange, answers.clone());
                answers
            }
        };
        match answers {
            Some(answers) => self.plan_again(read, turn, answers, (budget, place), arrivals).await,
            None => Ok((read, turn)),
        }
    }

    /// Finishes a plan again with an async judge's answers about the texts before the cut: they are mixed
    /// with the verdict of the policy's judge, and neighbours lend.
    pub(super) async fn plan_again(
        self: &Arc<Self>,
        read: Box<ReadRequest<A::Rest>>,
        mut turn: Box<PlannedTurn>,
        answers: Arc<PlanAnswers>,
        ((budget, wants_report), place): ((&ContextBudget, bool), &WorkPlace),
        arrivals: &mut Arrivals,
    ) -> Result<PlannedRequest<A::Rest>, ContextError> {
        let weight = self.waiting().map_or(0.0, |waiting| waiting.weight);
        let (Some(open), Some(verdict)) = (turn.open.take(), turn.planned.take_verdict()) else {
            return Ok((read, turn));
        };
        let budget = budget.clone();
        let OpenPlan { draft, task, mut own, .. } = *open;
        let finish = self.work(read, place, move |shared, ReadRequest { rest, talk, .. }| {
            let Some(talk) = talk.as_deref() else { return (turn, own) };
            let texts = shared.adapter.texts(rest);
            let verdict = verdict.mixed_with(&task, &answers, weight);
            turn.planned = draft.finish(Some(verdict), talk, &*texts);
            turn.limit = turn.planned.prepare(&mut own, &budget);
            if wants_report {
                turn.reported = talk.reported_request(&own, &turn.planned.parts, &*texts);
            }
            (turn, own)
        });
        let (read, (turn, own)) = finish.await?;
        arrivals.own = own;
        Ok((read, turn))
    }
}
