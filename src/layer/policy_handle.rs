//! The policy of a layer, which can be replaced while the layer runs.

use std::fmt;
use std::sync::Arc;

use super::BuildError;
use crate::conversation::plan::recall_pipeline;
use crate::error::CupelError;
use crate::gather::{LearnedCost, WaitingJudge};
use crate::model::TurnPlan;
use crate::pipeline::Pipeline;
use crate::policy::{Policy, Relevance};
use crate::scorer::Scorer;

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
}

/// Use of the question.
pub(super) struct JudgeRules {
    pub(super) relevance: Relevance,
    /// Selects when there is a question.
    pub(super) pipeline: Pipeline,
    pub(super) cost: Arc<LearnedCost>,
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
        Self::new(policy.to_pipeline(), plan, relevance, rules)
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
            relevance,
            cost: Arc::default(),
        });
        if rules.streaming {
            check_streaming(&pipeline)?;
            judging.iter().try_for_each(|judging| check_streaming(&judging.pipeline))?;
        }
        let planning = plan.map(|plan| {
            let pipeline = match rules.streaming {
                true => pipeline.clone(),
                false => recall_pipeline(&plan, &pipeline),
            };
            PlanRules { plan, pipeline }
        });
        Ok(Self { pipeline, judging, planning })
    }
}

/// Checks what selecting while gathering needs of a pipeline.
fn check_streaming(pipeline: &Pipeline) -> Result<(), BuildError> {
    let problem = |text: String| Err(BuildError::new(text));
    if let Some(name) = relative_scorer(&**pipeline.scorer()) {
        let instead = match name.as_str() {
            "RecencyScorer" => "use DecayScorer, which goes by age instead of rank",
            "PriorityScorer" => "use KindScorer, TagScorer or MetadataKeyScorer",
            _ => "use scorers that look at one item alone",
        };
        return problem(format!(
            "{name} compares an item with all others, so it cannot score while items arrive; \
             {instead}, or leave .select_while_gathering(..) out"
        ));
    }
    let scorer = pipeline.scorer();
    if scorer.facts().depends_on_time && scorer.freeze().is_none() {
        return problem(format!(
            "{} depends on time but cannot stop its clock for a request; override \
             Scorer::freeze, or leave .select_while_gathering(..) out",
            scorer.name()
        ));
    }
    if !pipeline.slicer().facts().streams {
        return problem(format!(
            "{} needs all items at once, so it cannot select while they arrive; use \
             GreedySlice or BestFirstSlice, or leave .select_while_gathering(..) out",
            pipeline.slicer().name()
        ));
    }
    Ok(())
}

/// The innermost scorer that compares an item with others, by name.
fn relative_scorer(scorer: &dyn Scorer) -> Option<String> {
    if scorer.facts().absolute {
        return None;
    }
    let mut inner = None;
    scorer.visit_children(&mut |child| {
        if inner.is_none() {
            inner = relative_scorer(child);
        }
    });
    inner.or_else(|| Some(scorer.name().to_owned()))
}
