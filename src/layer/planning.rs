//! The plan of a call's turn: made before anything is gathered, and followed to its end.

use std::sync::Arc;

use super::arrivals::Arrivals;
use super::call::Call;
use super::errand::Desk;
use super::{ContextAdapter, TurnReport};
use crate::conversation::plan::{Part, Planned, Turn};
use crate::model::{ContextBudget, ContextItem, Origin, Placed, RecallBy, TurnPlan};
use crate::pipeline::Pipeline;
use crate::relevance::Judge;
use crate::scorer::ReflexiveScorer;
use crate::slicer::BestFirstSlice;

/// How a layer plans.
pub(super) struct Planning {
    pub(super) plan: TurnPlan,
    /// What selects from what competes for a place among the recalled.
    pub(super) pipeline: Pipeline,
}

impl Planning {
    pub(super) fn new(plan: TurnPlan, pipeline: &Pipeline, streaming: bool) -> Self {
        let own = streaming || plan.recall_by == RecallBy::Policy;
        let pipeline = if own { pipeline.clone() } else { by_relevance(pipeline) };
        Self { plan, pipeline }
    }
}

/// Fills from the best hint down, and otherwise goes on as the policy's pipeline does.
fn by_relevance(pipeline: &Pipeline) -> Pipeline {
    let placer = Arc::clone(pipeline.placer());
    let overflow = pipeline.overflow_strategy();
    Pipeline::from_parts(ReflexiveScorer, BestFirstSlice, placer, overflow)
}

/// One call's plan.
pub(super) struct PlannedCall {
    pub(super) planned: Planned,
    /// Room for what is sent anyway, and for what is recalled.
    pub(super) budget: ContextBudget,
    report: TurnReport,
}

impl<Req, A: ContextAdapter<Req>> Call<Req, A> {
    /// Plans the turn, if the layer and the adapter do, and pins what is sent anyway.
    pub(super) fn plan(
        &self,
        rest: &mut A::Rest,
        own: &mut [ContextItem],
        window: i64,
        desk: Option<&Desk>,
    ) -> Option<Box<PlannedCall>> {
        let planning = self.shared.planning.as_ref()?;
        let budget = &self.selection.budget;
        let room = budget.effective(0).target_tokens();
        let mut turn = Turn::new(&planning.plan, window).room(room);
        turn.fixed_tokens = self.selection.fixed_tokens;
        turn.has_sources = !self.shared.sources.is_empty();
        turn.remote = !self.selection.uncounted.is_empty();
        turn.judge = desk.map(|desk| desk as &dyn Judge);
        let planned = self.shared.adapter.plan(rest, &turn)?;
        if desk.is_some_and(Desk::has_errand) {
            return None; // it is made again when the judge has spoken
        }
        let conversation = planned.parts.iter().zip(&planned.tokens).zip(&planned.hints);
        for (item, ((part, tokens), hint)) in own.iter_mut().zip(conversation) {
            item.set_tokens(*tokens);
            item.set_pinned(part.is_sent());
            if let Some(hint) = hint.as_ref().filter(|_| item.future_relevance_hint().is_none()) {
                item.set_hint(hint.clone());
            }
        }
        let others = own.get_mut(planned.parts.len()..).unwrap_or_default();
        for item in others.iter_mut().filter(|item| item.future_relevance_hint().is_none()) {
            if let Some(hint) = planned.hint(item.content(), item.tokens()) {
                item.set_hint(hint);
            }
        }
        let pinned = own.iter().filter(|item| item.pinned()).map(ContextItem::tokens);
        let pinned = pinned.fold(0, i64::saturating_add);
        let target = pinned.saturating_add(planned.share.saturating_sub(planned.frame));
        // Where pins do not fit, the pipeline says so.
        let target = target.clamp(0, budget.target_tokens());
        let budget = ContextBudget::trusted(budget.max_tokens(), target, budget.output_reserve());
        let parts = if self.wants_report {
            own.iter().cloned().zip(planned.parts.iter().copied()).collect()
        } else {
            Vec::new()
        };
        let report = TurnReport::new(&planned, parts, window);
        Some(Box::new(PlannedCall { planned, budget, report }))
    }
}

impl<Req, A: ContextAdapter<Req>> Call<Req, A> {
    /// Has what is recalled written, counts it, and reports what the plan came to.
    pub(super) fn note_plan(&mut self, rest: &mut A::Rest, placed: &[Placed]) {
        let Some(planned) = self.planned.take() else { return };
        let is_recalled = |placed: &&Placed| match placed.origin {
            Origin::Request(candidate) => planned.is_recalled(candidate),
            Origin::Source { .. } => true,
        };
        let own = placed.iter().filter(is_recalled).map(|placed| placed.item.clone());
        let own: Vec<ContextItem> = own.collect();
        let items = own.iter().map(ContextItem::tokens).fold(0, i64::saturating_add);
        let recalled = self.shared.adapter.quote(rest, placed).unwrap_or_else(|| {
            let frame = if items > 0 { planned.planned.frame } else { 0 };
            items.saturating_add(frame)
        });
        let sent = &mut self.selection.sent.tokens;
        *sent = sent.saturating_sub(items).saturating_add(recalled);
        let fixed = self.selection.fixed_tokens;
        let sent = sent.saturating_add(fixed);
        let report = planned.report.finish(sent, fixed, recalled, own);
        self.selection.plan = Some(Box::new(report));
    }
}

impl<Req, A> Call<Req, A> {
    /// What selects from what has arrived.
    pub(super) fn pipeline_for(&self, arrivals: &Arrivals) -> &Pipeline {
        match self.shared.planning.as_ref().filter(|_| self.planned.is_some()) {
            Some(planning) => &planning.pipeline,
            None => self.shared.pipeline_for(arrivals),
        }
    }

    /// What the selection may take.
    pub(super) fn budget(&self) -> &ContextBudget {
        self.planned.as_ref().map_or(&self.selection.budget, |planned| &planned.budget)
    }
}

impl PlannedCall {
    /// Gives what a source has brought the tokens that it takes when it is quoted, and a hint.
    pub(super) fn accept(&self, item: &mut ContextItem) {
        if item.future_relevance_hint().is_none() {
            if let Some(hint) = self.planned.hint(item.content(), item.tokens()) {
                item.set_hint(hint);
            }
        }
    }

    pub(super) fn is_recalled(&self, candidate: usize) -> bool {
        self.planned.parts.get(candidate).is_none_or(|part| *part == Part::Earlier)
    }
}
