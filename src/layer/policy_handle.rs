//! The policy of a layer, which can be replaced while the layer runs.

use std::fmt;
use std::sync::Arc;

use super::BuildError;
use crate::conversation::plan::recall_pipeline;
use crate::error::CupelError;
use crate::gather::{LearnedCost, WaitingJudge, check_streaming};
use crate::model::{ToolLimit, TurnPlan};
use crate::pipeline::Pipeline;
use crate::policy::{Policy, Relevance};

/// Replaces the policy of a running layer. Cheap to clone, and without the types of the layer.
///
/// ```
/// use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
/// use cupel::{ContextBudget, Policy};
///
/// let layer = CupelLayer::<ContextRequest<()>, _>::builder()
///     .adapter(ContextRequestAdapter)
///     .policy(Policy::chat())
///     .budget(ContextBudget::builder(8_192).build()?)
///     .build()?;
/// let handle = layer.policy_handle();
/// handle.replace(&Policy::rag())?; // for all services of the layer
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PolicyHandle {
    replace: Arc<ReplacePolicy>,
}

type ReplacePolicy = dyn Fn(&Policy) -> Result<(), BuildError> + Send + Sync;

impl PolicyHandle {
    pub(super) fn new(
        replace: impl Fn(&Policy) -> Result<(), BuildError> + Send + Sync + 'static,
    ) -> Self {
        Self { replace: Arc::new(replace) }
    }

    /// Selects by this policy from the next call on. A call that has started keeps its policy to the
    /// end. The builder's own settings, such as
    /// [`plan`](super::CupelLayerBuilder::plan), still come first.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if the layer could not be built with the policy. The old one stays.
    pub fn replace(&self, policy: &Policy) -> Result<(), BuildError> {
        (self.replace)(policy)
    }

    /// Reads a policy from a JSON, TOML or YAML file and [replaces](Self::replace) the old one with it.
    ///
    /// # Errors
    ///
    /// A [`PolicySpecError`](crate::policy::spec::PolicySpecError) with everything that is wrong with the
    /// file, or a [`BuildError`]. The old policy stays.
    #[cfg(feature = "config")]
    pub fn replace_from_file(
        &self,
        file: impl AsRef<std::path::Path>,
        registry: &crate::policy::spec::ScorerRegistry,
    ) -> Result<(), crate::gather::BoxError> {
        let spec = crate::policy::spec::PolicySpec::from_file(file)?;
        Ok(self.replace(&spec.to_policy(registry)?)?)
    }
}

impl fmt::Debug for PolicyHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PolicyHandle")
    }
}

/// Settings of a builder that a policy has to go with.
#[derive(Clone, Default)]
pub(super) struct PolicyRules {
    /// Set when the plan is not the policy's.
    pub(super) plan: Option<Option<TurnPlan>>,
    /// Set when the relevance is not the policy's.
    pub(super) relevance: Option<Option<Relevance>>,
    pub(super) waiting: Option<WaitingJudge>,
    /// `true` if items are selected while they arrive.
    pub(super) streaming: bool,
}

/// Parts of a layer that follow from its policy.
pub(super) struct PolicyParts {
    pub(super) pipeline: Pipeline,
    /// Set when the question is used.
    pub(super) judging: Option<JudgeRules>,
    /// Set when turns are planned.
    pub(super) planning: Option<PlanRules>,
    /// Limit for definitions of tools.
    pub(super) tools: ToolLimit,
}

/// Use of the question.
pub(super) struct JudgeRules {
    pub(super) relevance: Relevance,
    /// Selects when there is a question.
    pub(super) pipeline: Pipeline,
    pub(super) cost: Arc<LearnedCost>,
    /// Async judge: the builder's, or that of the policy's file.
    pub(super) waiting: Option<WaitingJudge>,
}

/// Plan of the turns of conversations.
pub(super) struct PlanRules {
    pub(super) plan: TurnPlan,
    /// Selects from what competes to be recalled.
    pub(super) pipeline: Pipeline,
}

impl PolicyParts {
    pub(super) fn of_policy(policy: &Policy, rules: &PolicyRules) -> Result<Self, BuildError> {
        let (plan, relevance) = (policy.plan().cloned(), policy.relevance().cloned());
        let parts = Self::new(policy.to_pipeline(), plan, relevance, rules)?;
        Ok(Self { tools: policy.tools().clone(), ..parts })
    }

    pub(super) fn of_pipeline(pipeline: Pipeline, rules: &PolicyRules) -> Result<Self, BuildError> {
        Self::new(pipeline, None, None, rules)
    }

    fn new(
        pipeline: Pipeline,
        plan: Option<TurnPlan>,
        relevance: Option<Relevance>,
        rules: &PolicyRules,
    ) -> Result<Self, BuildError> {
        let problem = |error: CupelError| BuildError::new(error.to_string());
        let plan = rules.plan.clone().unwrap_or(plan);
        let plan = plan.map(TurnPlan::check).transpose().map_err(problem)?;
        let relevance = rules.relevance.clone().unwrap_or(relevance);
        if let Some(relevance) = &relevance {
            relevance.check().map_err(problem)?;
        } else if rules.waiting.is_some() {
            return Err(BuildError::new(
                ".waiting_judge(..) needs a policy with a judge of its own, which says whether there \
                 is anything to ask; call .relevance(..)",
            ));
        }
        let judging = relevance.map(|relevance| JudgeRules {
            pipeline: relevance.pipeline(&pipeline),
            waiting: rules.waiting.clone().or_else(|| WaitingJudge::of_policy(&relevance)),
            relevance,
            cost: Arc::default(),
        });
        if rules.streaming {
            let judged = judging.iter().map(|judging| &judging.pipeline);
            std::iter::once(&pipeline)
                .chain(judged)
                .try_for_each(check_streaming)
                .map_err(BuildError::new)?;
        }
        let planning = plan.map(|plan| {
            let pipeline = match rules.streaming {
                true => pipeline.clone(),
                false => recall_pipeline(&plan, &pipeline),
            };
            PlanRules { plan, pipeline }
        });
        Ok(Self { pipeline, judging, planning, tools: ToolLimit::new() })
    }
}
