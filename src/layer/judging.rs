//! Judging a call's candidates by its question.

use std::borrow::Cow;

use super::ContextAdapter;
use super::arrivals::Arrivals;
use super::call::Call;
use super::service::Shared;
use crate::model::ContextItem;
use crate::pipeline::Pipeline;
use crate::policy::Relevance;
use crate::relevance::{Judged, Question};

/// How a layer uses the question.
pub(super) struct Judging {
    pub(super) relevance: Relevance,
    /// What selects when there is a question.
    pub(super) pipeline: Pipeline,
}

impl Judging {
    pub(super) fn new(relevance: &Relevance, pipeline: &Pipeline) -> Self {
        Self { pipeline: relevance.pipeline(pipeline), relevance: relevance.clone() }
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
    /// Gives the request's own candidates their hints.
    pub(super) fn judge(
        &self,
        rest: &A::Rest,
        candidates: &mut [ContextItem],
        question: Option<&Question>,
    ) -> Option<Box<Judged>> {
        let relevance = &self.shared.judging.as_ref()?.relevance;
        let question = question?;
        let adapter = &self.shared.adapter;
        // Handles, so that the texts can borrow from them while the items get their hints.
        let items: Vec<ContextItem> = candidates.to_vec();
        let texts: Vec<Option<Cow<'_, str>>> =
            items.iter().enumerate().map(|(index, item)| adapter.text(rest, index, item)).collect();
        let text = |index: usize| texts.get(index)?.as_deref();
        let judged =
            Judged::of(&**relevance.judge(), relevance.blended(), question, candidates, text);
        Some(Box::new(judged))
    }
}
