//! Judging a call's candidates by its question.

use std::borrow::Cow;
use std::sync::Arc;

use super::arrivals::Arrivals;
use super::beside::{Asked, Beside};
use super::call::{Call, Gathering};
use super::cost::Cost;
use super::errand::{Desk, Errand, Outcome};
use super::service::Shared;
use super::{ContextAdapter, ContextError};
use crate::model::ContextItem;
use crate::pipeline::Pipeline;
use crate::policy::Relevance;
use crate::relevance::apply::is_said;
use crate::relevance::{Judged, Question};

/// How a layer uses the question.
pub(super) struct Judging {
    pub(super) relevance: Relevance,
    /// What selects when there is a question.
    pub(super) pipeline: Pipeline,
    /// What judging has taken.
    pub(super) cost: Arc<Cost>,
}

impl Judging {
    pub(super) fn new(relevance: &Relevance, pipeline: &Pipeline) -> Self {
        let pipeline = relevance.pipeline(pipeline);
        Self { pipeline, relevance: relevance.clone(), cost: Arc::default() }
    }
}

impl<Req, A> Shared<Req, A> {
    /// What selects from candidates that were judged, or were not.
    pub(super) fn pipeline_for(&self, arrivals: &Arrivals) -> &Pipeline {
        let judging = self.judging.as_ref().filter(|_| arrivals.is_asked());
        judging.map_or(&self.pipeline, |judging| &judging.pipeline)
    }
}

impl<Req, A: ContextAdapter<Req>> Call<Req, A> {
    /// Plans the turn, or gives the request's own candidates their hints. If the judge takes long it
    /// is sent on an errand, and nothing is done until this is called again with its outcome.
    pub(super) fn judge(
        &mut self,
        gathering: &mut Gathering<A::Rest>,
        outcome: Option<Outcome>,
    ) -> Result<Option<Errand>, ContextError> {
        let desk = self.shared.judging.as_ref().map(|judging| {
            let judge = judging.relevance.judge();
            Desk::new(judge, &judging.cost, self.shared.blocking_threshold, &self.span, outcome)
        });
        let window = gathering.whole.max_tokens();
        let Gathering { rest, arrivals, .. } = gathering;
        self.planned = self.plan(rest, &mut arrivals.own, window, desk.as_ref());
        if let Some(errand) = desk.as_ref().and_then(Desk::take_errand) {
            return Ok(Some(errand));
        }
        if self.planned.is_some() {
            return Ok(None);
        }
        let frame_tokens = std::mem::take(&mut gathering.frame_tokens);
        self.take_off(gathering, frame_tokens)?;
        let Gathering { rest, arrivals, question, .. } = gathering;
        if let (Some(desk), Some(question)) = (&desk, question) {
            arrivals.judged = self.hints(desk, rest, &mut arrivals.own, question);
            return Ok(desk.take_errand());
        }
        Ok(None)
    }

    /// Has the judge that is waited for asked about the request's own candidates, if the policy's
    /// judge has found something to go by.
    pub(super) fn ask_beside(&self, gathering: &mut Gathering<A::Rest>) {
        let Gathering { rest, arrivals, question, came_with, .. } = gathering;
        let shared = &*self.shared;
        let (Some(waiting), Some(judging), Some(question)) =
            (&shared.waiting, &shared.judging, question)
        else {
            return;
        };
        // A plan keeps the hints that things came with, and goes by the user's last words alone.
        let (asked, blend, question) = match &self.planned {
            Some(planned) => (planned.planned.is_judged(), 0.0, question.clone().alone()),
            None => (arrivals.is_asked(), judging.relevance.blended(), question.clone()),
        };
        if !asked {
            return;
        }
        let mut beside = Beside::new(waiting, blend, question, shared.gather_deadline);
        let came_with = std::mem::take(came_with);
        for (index, item) in std::mem::take(&mut arrivals.own).into_iter().enumerate() {
            let came_with = came_with.get(index).copied().flatten();
            let wanted = beside.wants(&item, came_with);
            if !wanted && !beside.is_holding() {
                arrivals.own.push(item);
                continue;
            }
            let asked = wanted.then(|| {
                let text = match shared.adapter.text(rest, index, &item) {
                    Some(text) => Arc::from(&*text),
                    None => item.shared_content(),
                };
                Asked { text, tokens: item.tokens(), place: is_said(&item).then_some(index) }
            });
            beside.hold(0, item, came_with, asked);
        }
        gathering.beside = Some(Box::new(beside));
    }

    /// Gives the request's own candidates their hints.
    fn hints(
        &self,
        desk: &Desk,
        rest: &A::Rest,
        candidates: &mut [ContextItem],
        question: &Question,
    ) -> Option<Box<Judged>> {
        let blend = self.shared.judging.as_ref()?.relevance.blended();
        let adapter = &self.shared.adapter;
        // Handles, so that the texts can borrow from them while the items get their hints.
        let items: Vec<ContextItem> = candidates.to_vec();
        // Nobody reads them if the judge has spoken.
        let read = if desk.is_told() { &[][..] } else { &items };
        let texts: Vec<Option<Cow<'_, str>>> =
            read.iter().enumerate().map(|(index, item)| adapter.text(rest, index, item)).collect();
        let text = |index: usize| texts.get(index)?.as_deref();
        let mut judged = Judged::of(desk, blend, question, candidates, text);
        if let Some(problem) = desk.problem() {
            judged.report.problem = Some(problem.to_owned());
        }
        Some(Box::new(judged))
    }
}
