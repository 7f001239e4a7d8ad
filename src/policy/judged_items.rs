//! Selection for a question: the judge of a policy, and the items that it has judged.

use super::{Policy, Relevance};
use crate::diagnostics::SelectionReport;
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem};
use crate::pipeline::Pipeline;
use crate::relevance::{JudgeTask, Judged, Question, RelevanceReport};

/// Candidates with the hints of a policy's judge, and the pipeline to select from them with:
/// see [`Policy::judge`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JudgedItems {
    /// The items, in their order.
    pub items: Vec<ContextItem>,
    /// Pipeline to select from them with.
    pub pipeline: Pipeline,
    /// Outcome of judging.
    pub report: RelevanceReport,
}

/// With a question.
impl Policy {
    /// Use of the question; none if the policy ignores it.
    #[must_use]
    pub fn relevance(&self) -> Option<&Relevance> {
        self.relevance.as_ref()
    }

    /// The same policy with another use of the question.
    #[must_use]
    pub fn with_relevance(mut self, relevance: Relevance) -> Self {
        self.relevance = Some(relevance);
        self
    }

    /// The same policy, which ignores the question.
    #[must_use]
    pub fn without_relevance(mut self) -> Self {
        self.relevance = None;
        self
    }

    /// Gives items their hints for a question. The texts judged are their contents; messages and
    /// tool outputs are taken to be a conversation in the order of the list.
    ///
    /// For analytics and anything else that takes items and a pipeline.
    #[must_use]
    pub fn judge(&self, question: &Question, items: &[ContextItem]) -> JudgedItems {
        let mut items = items.to_vec();
        let Some(relevance) = &self.relevance else {
            let report = RelevanceReport::default();
            return JudgedItems { items, pipeline: self.to_pipeline(), report };
        };
        let verdict = JudgeTask::of_contents(question, &items).run(&*relevance.judge);
        let Judged { report, .. } =
            Judged::of(relevance.judge.name(), relevance.blend, verdict, &mut items);
        let pipeline =
            if report.asked { relevance.pipeline(&self.pipeline) } else { self.to_pipeline() };
        JudgedItems { items, pipeline, report }
    }

    /// Selects from `items` what fits `budget` and helps with the question.
    ///
    /// # Errors
    ///
    /// As [`Pipeline::run`].
    pub fn run_for(
        &self,
        question: &Question,
        items: &[ContextItem],
        budget: &ContextBudget,
    ) -> Result<Vec<ContextItem>, CupelError> {
        let JudgedItems { items, pipeline, .. } = self.judge(question, items);
        pipeline.run(&items, budget)
    }

    /// Report of what [`run_for`](Self::run_for) would select, with the reasons.
    ///
    /// # Errors
    ///
    /// As [`Pipeline::run`].
    pub fn dry_run_for(
        &self,
        question: &Question,
        items: &[ContextItem],
        budget: &ContextBudget,
    ) -> Result<SelectionReport, CupelError> {
        let JudgedItems { items, pipeline, report: relevance } = self.judge(question, items);
        let mut report = pipeline.dry_run(&items, budget)?;
        report.relevance = self.relevance.is_some().then_some(relevance);
        Ok(report)
    }
}
