//! Puts a layer together.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::call::{Judging, Planning, Shared};
use super::selector::Selector;
use super::service::CupelLayer;
use super::{BudgetProvider, ContextAdapter, Selection, SelectionHook};
use crate::conversation::plan::recall_pipeline;
use crate::gather::{ProgressHook, Snapshot, Source, StreamingMode, WaitingJudge, facts_of};
use crate::model::TurnPlan;
use crate::pipeline::Pipeline;
use crate::policy::{Policy, Relevance};
use crate::scorer::Scorer;

/// A setting of the layer that is missing or contradicts another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("CupelLayer: {0}")]
pub struct BuildError(String);

/// Builds a [`CupelLayer`].
///
/// An adapter, a policy or pipeline, and a budget are needed; [`build`](Self::build) says which
/// one is missing:
///
/// ```
/// use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
///
/// let error = CupelLayer::<ContextRequest<()>, _>::builder()
///     .adapter(ContextRequestAdapter)
///     .build()
///     .unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "CupelLayer: nothing says how to select; call .policy(..) or .pipeline(..)",
/// );
/// ```
#[must_use = "a layer exists only after build()"]
pub struct CupelLayerBuilder<Req, A> {
    adapter: A,
    settings: Settings<Req>,
}

/// Everything but the adapter.
struct Settings<Req> {
    policy: Option<Policy>,
    pipeline: Option<Pipeline>,
    /// Set when it is not the policy's.
    plan: Option<Option<TurnPlan>>,
    relevance: Option<Option<Relevance>>,
    waiting: Option<WaitingJudge>,
    budget: Option<Arc<dyn BudgetProvider<Req>>>,
    sources: Vec<Source<Req>>,
    hooks: Vec<Arc<dyn SelectionHook>>,
    gather_deadline: Duration,
    ready_after_gathering: bool,
    blocking_threshold: u64,
    explain_scores: bool,
    streaming: bool,
    dropped_sample: Option<usize>,
    on_progress: Option<ProgressHook>,
}

/// Stands where the adapter goes until one is set; a layer cannot be built with it.
#[derive(Debug, Clone, Copy)]
pub struct NoAdapter;

impl<Req> CupelLayer<Req, NoAdapter> {
    /// Starts a layer.
    pub fn builder() -> CupelLayerBuilder<Req, NoAdapter> {
        let settings = Settings {
            policy: None,
            pipeline: None,
            plan: None,
            relevance: None,
            waiting: None,
            budget: None,
            sources: Vec::new(),
            hooks: Vec::new(),
            gather_deadline: Self::DEFAULT_GATHER_DEADLINE,
            ready_after_gathering: false,
            blocking_threshold: Self::DEFAULT_BLOCKING_THRESHOLD,
            explain_scores: false,
            streaming: false,
            dropped_sample: None,
            on_progress: None,
        };
        CupelLayerBuilder { adapter: NoAdapter, settings }
    }
}

impl<Req, A> CupelLayerBuilder<Req, A> {
    /// Sets how candidates come out of a request and go back in.
    pub fn adapter<B: ContextAdapter<Req>>(self, adapter: B) -> CupelLayerBuilder<Req, B> {
        CupelLayerBuilder { adapter, settings: self.settings }
    }

    /// Selects by a policy.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.settings.policy = Some(policy);
        self
    }

    /// Selects with a pipeline, for instance one with an overflow observer.
    pub fn pipeline(mut self, pipeline: Pipeline) -> Self {
        self.settings.pipeline = Some(pipeline);
        self
    }

    /// Plans the turns of conversations this way, whatever the policy says.
    pub fn plan(mut self, plan: TurnPlan) -> Self {
        self.settings.plan = Some(Some(plan));
        self
    }

    /// Scores and selects the messages of conversations like anything else, whatever the policy
    /// says.
    pub fn without_plan(mut self) -> Self {
        self.settings.plan = Some(None);
        self
    }

    /// Uses the question this way, whatever the policy says; none means not at all.
    ///
    /// Adapters say what is [asked](super::Split::question); the judge gives candidates that have
    /// no relevance a hint, before the selection.
    pub fn relevance(mut self, relevance: impl Into<Option<Relevance>>) -> Self {
        self.settings.relevance = Some(relevance.into());
        self
    }

    /// Asks a judge that has to be waited for as well, such as embeddings or a re-ranker; see
    /// [`WaitingJudge`] for how, and [`AsyncJudge`](super::AsyncJudge) for what leaves the process.
    ///
    /// It needs a policy with a judge of its own, or [`relevance`](Self::relevance).
    pub fn waiting_judge(mut self, judge: WaitingJudge) -> Self {
        self.settings.waiting = Some(judge);
        self
    }

    /// Sets the budget: the same for every request, a function of it, or that of a checked
    /// [contract](crate::contract)'s step:
    ///
    /// ```
    /// use cupel::Policy;
    /// use cupel::contract::{BudgetContract, GenerationStep, ModelLimits, PipelineSettings};
    /// use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
    /// use cupel::tokens::HeuristicCounter;
    ///
    /// let contract = BudgetContract::new(ModelLimits::new(9_600), PipelineSettings::new(6_000))
    ///     .step(GenerationStep::new("answer").max_output_tokens(2_048))
    ///     .check(&HeuristicCounter)?;
    /// let layer = CupelLayer::<ContextRequest<()>, _>::builder()
    ///     .adapter(ContextRequestAdapter)
    ///     .policy(Policy::rag())
    ///     .budget(contract.step("answer")?)
    ///     .build()?;
    /// # let _ = layer;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn budget(mut self, budget: impl BudgetProvider<Req> + 'static) -> Self {
        self.settings.budget = Some(Arc::new(budget));
        self
    }

    /// Adds a source of candidates.
    pub fn source(mut self, source: Source<Req>) -> Self {
        self.settings.sources.push(source);
        self
    }

    /// Cuts all sources off after this long; 2 seconds unless set.
    pub fn gather_deadline(mut self, deadline: Duration) -> Self {
        self.settings.gather_deadline = deadline;
        self
    }

    /// Calls a function with every selection.
    pub fn on_selection(self, function: impl Fn(&Selection) + Send + Sync + 'static) -> Self {
        self.hook(function)
    }

    /// Adds a hook that is told about selections and about failures to select.
    pub fn hook(mut self, hook: impl SelectionHook + 'static) -> Self {
        self.settings.hooks.push(Arc::new(hook));
        self
    }

    /// Waits for the wrapped service to be ready after gathering instead of before.
    ///
    /// By default the layer is ready when the wrapped service is, and the ready service waits
    /// while candidates are gathered. Behind a concurrency limit that holds a permit idle: with
    /// this option calls gather at the same time and queue only for the model. The layer is then
    /// always ready, so back-pressure must come from elsewhere.
    ///
    /// A source that asks the model itself, through the same limited client, needs this option: by
    /// default the call holds the place that its own source waits for, until the deadline.
    pub fn ready_after_gathering(mut self, enabled: bool) -> Self {
        self.settings.ready_after_gathering = enabled;
        self
    }

    /// Moves selections, and judging, of at least this many steps to the blocking pool;
    /// [`CupelLayer::DEFAULT_BLOCKING_THRESHOLD`] unless set.
    pub fn blocking_threshold(mut self, steps: u64) -> Self {
        self.settings.blocking_threshold = steps;
        self
    }

    /// Says in reports how every score came about, in
    /// [`ItemDetails::score`](crate::diagnostics::ItemDetails::score); off unless set. It takes about
    /// as long as scoring, where somebody wants a report, and nothing otherwise.
    pub fn explain_scores(mut self, enabled: bool) -> Self {
        self.settings.explain_scores = enabled;
        self
    }

    /// Selects while items arrive, instead of after gathering.
    ///
    /// The selection is the same, as long as sources give items of equal content equal tokens.
    /// Memory is for what can still be selected, and a few words for each of the others (all of
    /// them stay where the adapter [counts](super::Split::recounts_sources) sources' items
    /// its own way). With what sources [promise](Source::max_score) the call leaves as soon as
    /// nothing that could still arrive would change the selection. It needs a scorer that looks at
    /// one item alone, and a slicer that takes whatever fits in one pass:
    /// [`GreedySlice`](crate::GreedySlice), [`BestFirstSlice`](crate::BestFirstSlice), or one of your
    /// own that [declares](crate::slicer::SlicerFacts::with_one_pass) it. The layer makes that pass as
    /// items arrive, so it does not call [`Slicer::slice`](crate::Slicer::slice).
    ///
    /// A call that never has to wait for a source selects at the end: what is all there is
    /// cheaper to select from at once. Scoring goes on in pieces of a millisecond, and what is left of it when
    /// the sources have ended may go to the blocking pool.
    pub fn select_while_gathering(mut self, enabled: bool) -> Self {
        self.settings.streaming = enabled;
        self
    }

    /// Lists this many of the best items that were left out, when
    /// [selecting while gathering](Self::select_while_gathering); 100 unless set.
    pub fn dropped_sample(mut self, items: usize) -> Self {
        self.settings.dropped_sample = Some(items);
        self
    }

    /// Calls a function whenever the selection changes while gathering, to show what has arrived.
    /// Needs [`select_while_gathering`](Self::select_while_gathering).
    pub fn on_progress(mut self, function: impl Fn(&Snapshot) + Send + Sync + 'static) -> Self {
        self.settings.on_progress = Some(Arc::new(function));
        self
    }
}

impl<Req> Settings<Req> {
    /// Checks what selecting while gathering needs of the pipeline, and the settings that need it.
    fn streaming_mode(&mut self, pipeline: &Pipeline) -> Result<Option<StreamingMode>, BuildError> {
        let problem = |text: String| Err(BuildError(text));
        if !self.streaming {
            for (set, option) in [
                (self.dropped_sample.is_some(), "dropped_sample"),
                (self.on_progress.is_some(), "on_progress"),
            ] {
                if set {
                    return problem(format!(".{option}(..) needs .select_while_gathering(true)"));
                }
            }
            return Ok(None);
        }
        check_streaming(pipeline)?;
        let dropped_sample = self.dropped_sample.unwrap_or(DEFAULT_DROPPED_SAMPLE);
        Ok(Some(StreamingMode { dropped_sample, on_progress: self.on_progress.take() }))
    }

    fn check_waiting(&self, has_judge: bool) -> Result<(), BuildError> {
        let Some(waiting) = &self.waiting else { return Ok(()) };
        waiting.check().map_err(BuildError)?;
        if self.gather_deadline.is_zero() {
            let problem = "gather_deadline is zero, so the waiting judge could not answer";
            return Err(BuildError(problem.to_owned()));
        }
        if has_judge {
            return Ok(());
        }
        let problem = ".waiting_judge(..) needs a policy with a judge of its own, which says whether \
                       there is anything to ask; call .relevance(..)";
        Err(BuildError(problem.to_owned()))
    }

    fn check_sources(&self) -> Result<(), BuildError> {
        let problem = |text: String| Err(BuildError(text));
        for (position, source) in self.sources.iter().enumerate() {
            let name = source.name();
            if name.trim().is_empty() {
                return problem(format!("source {position} has no name; give it one"));
            }
            if self.sources.iter().take(position).any(|earlier| earlier.name() == name) {
                return problem(format!("two sources are named {name:?}; give each its own name"));
            }
            if source.limit == 0 {
                return problem(format!("source {name:?} has a limit of 0 items; leave it out"));
            }
            if source.deadline == Some(Duration::ZERO) {
                return problem(format!(
                    "source {name:?} has a deadline of zero; give it time, or leave it out"
                ));
            }
        }
        if !self.sources.is_empty() && self.gather_deadline.is_zero() {
            return problem("gather_deadline is zero, so no source could deliver".to_owned());
        }
        Ok(())
    }
}

impl<Req, A: ContextAdapter<Req>> CupelLayerBuilder<Req, A> {
    /// Finishes the layer.
    ///
    /// # Errors
    ///
    /// [`BuildError`] says what is missing or contradictory, and what to set.
    pub fn build(self) -> Result<CupelLayer<Req, A>, BuildError> {
        let Self { adapter, mut settings } = self;
        settings.check_sources()?;
        let plan = settings.policy.as_ref().and_then(|policy| policy.plan().cloned());
        let plan = settings.plan.take().unwrap_or(plan).map(TurnPlan::check).transpose();
        let plan = plan.map_err(|error| BuildError(error.to_string()))?;
        let relevance = settings.policy.as_ref().and_then(|policy| policy.relevance().cloned());
        let relevance = settings.relevance.take().unwrap_or(relevance);
        if let Some(relevance) = &relevance {
            relevance.check().map_err(|error| BuildError(error.to_string()))?;
        }
        settings.check_waiting(relevance.is_some())?;
        let pipeline = match (settings.policy.take(), settings.pipeline.take()) {
            (Some(_), Some(_)) => {
                let problem = "both .policy(..) and .pipeline(..) are set; keep one";
                return Err(BuildError(problem.to_owned()));
            }
            (Some(policy), None) => policy.to_pipeline(),
            (None, Some(pipeline)) => pipeline,
            (None, None) => {
                let problem = "nothing says how to select; call .policy(..) or .pipeline(..)";
                return Err(BuildError(problem.to_owned()));
            }
        };
        let judging = relevance.map(|relevance| Judging {
            pipeline: relevance.pipeline(&pipeline),
            relevance,
            cost: Arc::default(),
        });
        let streaming = settings.streaming_mode(&pipeline)?;
        if let (Some(judging), Some(_)) = (&judging, &streaming) {
            check_streaming(&judging.pipeline)?;
        }
        let budget = settings.budget.ok_or_else(|| {
            BuildError("no budget is set; call .budget(..) with one or a function".to_owned())
        })?;
        let planning = plan.map(|plan| {
            let pipeline = match &streaming {
                Some(_) => pipeline.clone(),
                None => recall_pipeline(&plan, &pipeline),
            };
            Planning { plan, pipeline }
        });
        Ok(CupelLayer::new(Selector::new(Shared {
            adapter,
            planning,
            pipeline,
            judging,
            waiting: settings.waiting,
            budget,
            facts: facts_of(&settings.sources),
            sources: settings.sources,
            hooks: settings.hooks,
            gather_deadline: settings.gather_deadline,
            ready_after_gathering: settings.ready_after_gathering,
            blocking_threshold: settings.blocking_threshold,
            explain_scores: settings.explain_scores,
            cost: Arc::default(),
            streaming,
        })))
    }
}

/// Checks what selecting while gathering needs of a pipeline.
fn check_streaming(pipeline: &Pipeline) -> Result<(), BuildError> {
    let problem = |text: String| Err(BuildError(text));
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

/// How many of the dropped items a report lists unless told otherwise.
const DEFAULT_DROPPED_SAMPLE: usize = 100;

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

impl<Req, A> fmt::Debug for CupelLayerBuilder<Req, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CupelLayerBuilder")
            .field("policy", &self.settings.policy)
            .field("pipeline", &self.settings.pipeline)
            .field("sources", &self.settings.sources)
            .field("gather_deadline", &self.settings.gather_deadline)
            .finish_non_exhaustive()
    }
}
