//! A selection's configuration as a value: scorer, slicer, placer, overflow, deduplication.
//!
//! ```
//! use cupel::{ContextBudget, ContextItem, Policy};
//!
//! let policy = Policy::chat();
//! let items = [ContextItem::new("hello", 3)?];
//! let report = policy.dry_run(&items, &ContextBudget::builder(100).build()?)?;
//! assert_eq!(report.included.len(), 1);
//! # Ok::<(), cupel::CupelError>(())
//! ```
//!
//! # Presets
//!
//! | preset | what it is for | a conversation is | judge | shares |
//! | --- | --- | --- | --- | --- |
//! | [`chat`](Policy::chat) | talk with a user, with or without tools | planned | `Lexical` | of the window: 10 % recalled, 25 % with sources |
//! | [`tool_use`](Policy::tool_use) | a coding agent, or another one that can read again what it read before | planned | `Lexical` | of the window: 5 % recalled, 25 % with sources; of plain items at least 2 tool outputs |
//! | [`rag`](Policy::rag) | retrieved passages, also while they arrive | scored | `Lexical` | none |
//! | [`document_qa`](Policy::document_qa) | documents, and talk about the same subject beside them | scored | `Lexical` | of the budget: documents at least 60 %, messages at most 20 % |
//!
//! A [planned](crate::conversation::plan) conversation needs an adapter that knows conversations. Plain
//! items are always scored. Every pair of presets sends different requests for the recorded runs of this
//! project; a test names the pair that does not.
//!
//! The judge counts when there is a question. Then relevance decides and the rest breaks ties, and the
//! budget is filled from the best score down: on conversations whose answers are known
//! (`cargo bench --bench evidence`) that keeps several times the evidence, and every further point of
//! weight on age costs some of it.
//!
//! Weights are relative: only their ratios matter. All presets truncate rather than fail, since a
//! preset should never be the reason a call is not made.
//!
//! With the feature `serde` a policy is also data: see the module `spec`.

mod presets;
mod relevance;
#[cfg(feature = "serde")]
pub mod spec;

use crate::diagnostics::SelectionReport;
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, OverflowStrategy, ToolLimit, TurnPlan};
use crate::pipeline::{Pipeline, PipelineBuilder};
use crate::placer::Placer;
use crate::relevance::{JudgeOutcome, JudgeTask, Question, RelevanceReport};
use crate::scorer::{Scorer, detect_cycles};
use crate::slicer::Slicer;

pub use relevance::{JudgedItems, Relevance};

/// Configuration of a selection, without a budget and without observers. Cheap to clone.
///
/// Take a preset and change it, or build one of parts with [`Policy::builder`]. A layer takes it with
/// `.policy(..)`; [`run_for`](Self::run_for) and [`dry_run_for`](Self::dry_run_for) need no layer.
///
/// ```
/// use cupel::Policy;
/// use cupel::model::TurnPlan;
///
/// let policy = Policy::chat().with_plan(TurnPlan::new().recall(0.2));
/// assert_eq!(policy.plan().unwrap().recall_tokens(10_000, false), 2_000);
/// assert!(Policy::chat().without_plan().plan().is_none());
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Policy {
    pipeline: Pipeline,
    plan: Option<TurnPlan>,
    relevance: Option<Relevance>,
    tools: ToolLimit,
}

impl Policy {
    /// Starts a policy.
    pub fn builder() -> PolicyBuilder {
        PolicyBuilder::new()
    }

    /// A pipeline that selects by this policy.
    pub fn to_pipeline(&self) -> Pipeline {
        self.pipeline.clone()
    }

    /// Plan for the turns of a conversation; none if messages are scored and selected.
    ///
    /// The presets for conversations have one. It counts in a layer, with an adapter that knows
    /// conversations, and in a [`Rehearsal`](crate::conversation::Rehearsal) of messages;
    /// [`dry_run`](Self::dry_run) and pipelines score and select.
    pub fn plan(&self) -> Option<&TurnPlan> {
        self.plan.as_ref()
    }

    /// The same policy with another plan for the turns of a conversation.
    pub fn with_plan(mut self, plan: TurnPlan) -> Self {
        self.plan = Some(plan);
        self
    }

    /// The same policy without a plan: messages are scored and selected like anything else.
    pub fn without_plan(mut self) -> Self {
        self.plan = None;
        self
    }

    /// Share of the window that definitions of tools may take in a request that does not fit: a quarter
    /// unless set.
    ///
    /// It counts in a layer, with an adapter that knows tools.
    pub fn tools(&self) -> &ToolLimit {
        &self.tools
    }

    /// The same policy with another limit for definitions of tools. [`ToolLimit::never`] leaves none out.
    pub fn with_tools(mut self, tools: ToolLimit) -> Self {
        self.tools = tools;
        self
    }

    pub(crate) fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Report of what this policy would select from items, with the reasons. The items are scored, also
    /// by a policy with a [plan](Self::plan): a [`Rehearsal`](crate::conversation::Rehearsal) plans
    /// messages.
    ///
    /// # Errors
    ///
    /// As [`Pipeline::run`].
    pub fn dry_run(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
    ) -> Result<SelectionReport, CupelError> {
        self.pipeline.dry_run(items, budget)
    }
}

/// Selection for a question.
impl Policy {
    /// Use of the question; none if the policy ignores it.
    pub fn relevance(&self) -> Option<&Relevance> {
        self.relevance.as_ref()
    }

    /// The same policy with another use of the question.
    pub fn with_relevance(mut self, relevance: Relevance) -> Self {
        self.relevance = Some(relevance);
        self
    }

    /// The same policy, which ignores the question.
    pub fn without_relevance(mut self) -> Self {
        self.relevance = None;
        self
    }

    /// Gives items their hints for a question. The texts judged are their contents; messages and
    /// tool outputs are taken to be a conversation in the order of the list.
    ///
    /// For analytics and anything else that takes items and a pipeline.
    pub fn judge(&self, question: &Question, items: &[ContextItem]) -> JudgedItems {
        let mut items = items.to_vec();
        let Some(relevance) = &self.relevance else {
            let report = RelevanceReport::default();
            return JudgedItems { items, pipeline: self.to_pipeline(), report };
        };
        let verdict = JudgeTask::of_contents(question, &items).run(&*relevance.judge);
        let JudgeOutcome { report, .. } =
            JudgeOutcome::of(relevance.judge.name(), relevance.blend, verdict, &mut items);
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

impl Pipeline {
    /// Report of what another policy would select from the same items under an explicit budget.
    ///
    /// ```
    /// use cupel::{ContextBudget, ContextItem, Policy};
    ///
    /// let pipeline = Policy::chat().to_pipeline();
    /// let items = [ContextItem::new("hello", 3)?];
    /// let budget = ContextBudget::builder(100).build()?;
    /// let report = pipeline.dry_run_with_policy(&items, &budget, &Policy::rag())?;
    /// assert_eq!(report.total_candidates, 1);
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Pipeline::run`].
    pub fn dry_run_with_policy(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        policy: &Policy,
    ) -> Result<SelectionReport, CupelError> {
        policy.dry_run(items, budget)
    }
}

/// Builds a [`Policy`]. Values, `Arc`s and `Box`es all go in.
#[derive(Debug, Clone, Default)]
#[must_use = "a policy exists only after build()"]
pub struct PolicyBuilder {
    pipeline: PipelineBuilder,
    plan: Option<TurnPlan>,
    relevance: Option<Relevance>,
    tools: ToolLimit,
}

impl PolicyBuilder {
    /// Starts a policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the scorer of the items.
    pub fn scorer(mut self, scorer: impl Scorer + 'static) -> Self {
        self.pipeline = self.pipeline.scorer(scorer);
        self
    }

    /// Sets the slicer that fills the budget.
    pub fn slicer(mut self, slicer: impl Slicer + 'static) -> Self {
        self.pipeline = self.pipeline.slicer(slicer);
        self
    }

    /// Sets the placer that orders the selection.
    pub fn placer(mut self, placer: impl Placer + 'static) -> Self {
        self.pipeline = self.pipeline.placer(placer);
        self
    }

    /// Sets the reaction when the selection exceeds the target; [`OverflowStrategy::Throw`] unless
    /// set.
    pub fn overflow_strategy(mut self, strategy: OverflowStrategy) -> Self {
        self.pipeline = self.pipeline.overflow_strategy(strategy);
        self
    }

    /// Sets whether items with equal content are reduced to the best one; on unless set.
    pub fn deduplication(mut self, enabled: bool) -> Self {
        self.pipeline = self.pipeline.deduplication(enabled);
        self
    }

    /// Plans the turns of a conversation; its messages are scored and selected unless set.
    pub fn plan(mut self, plan: TurnPlan) -> Self {
        self.plan = Some(plan);
        self
    }

    /// Sets the use of the question; it is ignored unless set.
    pub fn relevance(mut self, relevance: Relevance) -> Self {
        self.relevance = Some(relevance);
        self
    }

    /// Sets the limit for definitions of tools; a quarter of the window unless set.
    pub fn tools(mut self, tools: ToolLimit) -> Self {
        self.tools = tools;
        self
    }

    /// Finishes the policy.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerConfig`] when the share to blend is not from 0 to 1;
    /// [`CupelError::PipelineConfig`] when the scorer, slicer or placer is missing;
    /// [`CupelError::ScorerCycle`] when a scorer is part of its own dependency graph.
    pub fn build(self) -> Result<Policy, CupelError> {
        let pipeline = self.pipeline.build()?;
        let plan = self.plan.map(TurnPlan::check).transpose()?;
        if let Some(relevance) = &self.relevance {
            relevance.check()?;
            relevance.scorer.iter().try_for_each(|scorer| detect_cycles(&**scorer))?;
        }
        let tools = self.tools.check()?;
        Ok(Policy { pipeline, plan, relevance: self.relevance, tools })
    }
}
