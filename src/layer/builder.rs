//! Puts a layer together.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::call::LayerState;
use super::compaction::Compaction;
use super::policy_handle::{PolicyParts, PolicyRules};
use super::selector::Selector;
use super::service::CupelLayer;
use super::{BudgetProvider, BuildError, ContextAdapter, Selection, SelectionHook};
use crate::gather::{ProgressHook, Snapshot, Source, StreamingMode, WaitingJudge, facts_of};
use crate::model::TurnPlan;
use crate::pipeline::Pipeline;
use crate::policy::{Policy, Relevance};

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
    rules: PolicyRules,
    budget: Option<Arc<dyn BudgetProvider<Req>>>,
    sources: Vec<Source<Req>>,
    hooks: Vec<Arc<dyn SelectionHook>>,
    gather_deadline: Duration,
    ready_after_gathering: bool,
    blocking_threshold: u64,
    explain_scores: bool,
    dropped_sample: Option<usize>,
    on_progress: Option<ProgressHook>,
    compaction: Option<Compaction<Req>>,
}

/// Placeholder of the adapter until one is set. A layer cannot be built with it.
#[derive(Debug, Clone, Copy)]
pub struct NoAdapter;

impl<Req> CupelLayer<Req, NoAdapter> {
    /// Starts a layer.
    pub fn builder() -> CupelLayerBuilder<Req, NoAdapter> {
        let settings = Settings {
            policy: None,
            pipeline: None,
            rules: PolicyRules::default(),
            budget: None,
            sources: Vec::new(),
            hooks: Vec::new(),
            gather_deadline: Self::DEFAULT_GATHER_DEADLINE,
            ready_after_gathering: false,
            blocking_threshold: Self::DEFAULT_BLOCKING_THRESHOLD,
            explain_scores: false,
            dropped_sample: None,
            on_progress: None,
            compaction: None,
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
        self.settings.rules.plan = Some(Some(plan));
        self
    }

    /// Scores and selects the messages of conversations like anything else, whatever the policy
    /// says.
    pub fn without_plan(mut self) -> Self {
        self.settings.rules.plan = Some(None);
        self
    }

    /// Uses the question this way, whatever the policy says; none means not at all.
    ///
    /// Adapters say what is [asked](super::Split::question); the judge gives candidates that have
    /// no relevance a hint, before the selection.
    pub fn relevance(mut self, relevance: impl Into<Option<Relevance>>) -> Self {
        self.settings.rules.relevance = Some(relevance.into());
        self
    }

    /// Asks a judge that has to be waited for as well, such as embeddings or a re-ranker; see
    /// [`WaitingJudge`] for how, and [`AsyncJudge`](super::AsyncJudge) for what leaves the process.
    ///
    /// It needs a policy with a judge of its own, or [`relevance`](Self::relevance).
    pub fn waiting_judge(mut self, judge: WaitingJudge) -> Self {
        self.settings.rules.waiting = Some(judge);
        self
    }

    /// Puts summaries in the place of what left the window of a planned conversation; off unless set.
    pub fn compaction(mut self, compaction: Compaction<Req>) -> Self {
        self.settings.compaction = Some(compaction);
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
    /// [`GreedySlice`](crate::GreedySlice), [`BestFirstSlice`](crate::slicer::BestFirstSlice), or one of your
    /// own that [declares](crate::slicer::SlicerFacts::with_one_pass) it. The layer makes that pass as
    /// items arrive, so it does not call [`Slicer::slice`](crate::Slicer::slice).
    ///
    /// A call that never has to wait for a source selects at the end: what is all there is
    /// cheaper to select from at once. Scoring goes on in pieces of a millisecond, and what is left of it when
    /// the sources have ended may go to the blocking pool.
    pub fn select_while_gathering(mut self, enabled: bool) -> Self {
        self.settings.rules.streaming = enabled;
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
    /// Settings of selecting while gathering, if that is on.
    fn streaming_mode(&mut self) -> Result<Option<StreamingMode>, BuildError> {
        if self.rules.streaming {
            let dropped_sample = self.dropped_sample.unwrap_or(DEFAULT_DROPPED_SAMPLE);
            return Ok(Some(StreamingMode {
                dropped_sample,
                on_progress: self.on_progress.take(),
            }));
        }
        let set = match (&self.dropped_sample, &self.on_progress) {
            (Some(_), _) => "dropped_sample",
            (_, Some(_)) => "on_progress",
            (None, None) => return Ok(None),
        };
        Err(BuildError::new(format!(".{set}(..) needs .select_while_gathering(true)")))
    }

    fn check_waiting(&self) -> Result<(), BuildError> {
        let Some(waiting) = &self.rules.waiting else { return Ok(()) };
        waiting.check().map_err(BuildError::new)?;
        if self.gather_deadline.is_zero() {
            let problem = "gather_deadline is zero, so the waiting judge could not answer";
            return Err(BuildError::new(problem));
        }
        Ok(())
    }

    fn check_sources(&self) -> Result<(), BuildError> {
        let problem = |text: String| Err(BuildError::new(text));
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
        settings.check_waiting()?;
        if let Some(compaction) = &settings.compaction {
            compaction.check().map_err(BuildError::new)?;
        }
        let parts = match (settings.policy.take(), settings.pipeline.take()) {
            (Some(_), Some(_)) => {
                return Err(BuildError::new(
                    "both .policy(..) and .pipeline(..) are set; keep one",
                ));
            }
            (Some(policy), None) => PolicyParts::of_policy(&policy, &settings.rules)?,
            (None, Some(pipeline)) => PolicyParts::of_pipeline(pipeline, &settings.rules)?,
            (None, None) => {
                let problem = "nothing says how to select; call .policy(..) or .pipeline(..)";
                return Err(BuildError::new(problem));
            }
        };
        let streaming = settings.streaming_mode()?;
        let budget = settings.budget.ok_or_else(|| {
            BuildError::new("no budget is set; call .budget(..) with one or a function")
        })?;
        let PolicyParts { pipeline, judging, planning, tools } = parts;
        Ok(CupelLayer::new(Selector::new(LayerState {
            adapter: Arc::new(adapter),
            planning,
            tools,
            pipeline,
            judging,
            rules: settings.rules,
            budget,
            facts: facts_of(&settings.sources),
            sources: settings.sources.into(),
            hooks: settings.hooks.into(),
            gather_deadline: settings.gather_deadline,
            ready_after_gathering: settings.ready_after_gathering,
            blocking_threshold: settings.blocking_threshold,
            explain_scores: settings.explain_scores,
            cost: Arc::default(),
            streaming: streaming.map(Arc::new),
            compaction: settings.compaction,
            exchanges: Arc::default(),
        })))
    }
}

/// Dropped items that a report lists by default.
const DEFAULT_DROPPED_SAMPLE: usize = 100;

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
