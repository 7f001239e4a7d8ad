//! The six stages: classify, score, deduplicate, sort, slice, place.
//!
//! ```
//! use cupel::{ContextBudget, ContextItem, ContextKind, GreedySlice, Pipeline, ReflexiveScorer};
//! use cupel::placer::UShapedPlacer;
//!
//! let pipeline = Pipeline::builder()
//!     .scorer(ReflexiveScorer)
//!     .slicer(GreedySlice)
//!     .placer(UShapedPlacer)
//!     .build()?;
//!
//! let items = [
//!     ContextItem::builder("You answer briefly.", 5)
//!         .kind(ContextKind::system_prompt())
//!         .pinned(true)
//!         .build()?,
//!     ContextItem::builder("a close match", 40).future_relevance_hint(0.9).build()?,
//!     ContextItem::builder("a distant match", 40).future_relevance_hint(0.2).build()?,
//! ];
//! let budget = ContextBudget::builder(60).build()?;
//! let selected = pipeline.run(&items, &budget)?;
//! let texts: Vec<_> = selected.iter().map(ContextItem::content).collect();
//! assert_eq!(texts, ["You answer briefly.", "a close match"]);
//! # Ok::<(), cupel::CupelError>(())
//! ```

mod fit;
mod observe;
mod rank;

use std::borrow::Cow;
use std::sync::Arc;

use crate::diagnostics::{
    DiagnosticTraceCollector, NullTraceCollector, OverflowEvent, SelectionReport, TraceCollector,
    TraceDetailLevel,
};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, OverflowStrategy, ScoredItem};
use crate::placer::Placer;
use crate::scorer::{Scorer, detect_cycles};
use crate::slicer::{PreparedSlice, Slicer};

use fit::{OverflowObserver, PlaceStage, slice};
use observe::{Observer, pipeline_span};
pub(crate) use observe::{Summary, record_failure, trace_selected};
pub(crate) use rank::Explain;
use rank::{ClassifiedItems, RankedItems, check_count, classify, rank};

/// Selects the items that fit a budget. Cheap to clone, and shared between threads.
///
/// The same items, budget and configuration always give the same selection in the same order.
#[derive(Debug, Clone)]
pub struct Pipeline {
    scorer: Arc<dyn Scorer>,
    slicer: Arc<dyn Slicer>,
    placer: Arc<dyn Placer>,
    overflow_strategy: OverflowStrategy,
    deduplication: bool,
    overflow_observer: Option<OverflowObserver>,
}

impl Pipeline {
    /// Starts a pipeline.
    pub fn builder() -> PipelineBuilder {
        PipelineBuilder::default()
    }

    /// For parts that are known to be valid.
    pub(crate) fn from_parts(
        scorer: impl Scorer + 'static,
        slicer: impl Slicer + 'static,
        placer: impl Placer + 'static,
        overflow_strategy: OverflowStrategy,
    ) -> Self {
        Self {
            scorer: Arc::new(scorer),
            slicer: Arc::new(slicer),
            placer: Arc::new(placer),
            overflow_strategy,
            deduplication: true,
            overflow_observer: None,
        }
    }

    /// The same pipeline with another scorer or slicer, where one is given.
    pub(crate) fn with_parts(
        &self,
        scorer: Option<Arc<dyn Scorer>>,
        slicer: Option<Arc<dyn Slicer>>,
    ) -> Self {
        Self {
            scorer: scorer.unwrap_or_else(|| Arc::clone(&self.scorer)),
            slicer: slicer.unwrap_or_else(|| Arc::clone(&self.slicer)),
            ..self.clone()
        }
    }

    /// The scorer.
    pub fn scorer(&self) -> &Arc<dyn Scorer> {
        &self.scorer
    }

    /// The slicer.
    pub fn slicer(&self) -> &Arc<dyn Slicer> {
        &self.slicer
    }

    /// The placer.
    pub fn placer(&self) -> &Arc<dyn Placer> {
        &self.placer
    }

    /// Reaction when the selection exceeds the target.
    pub fn overflow_strategy(&self) -> OverflowStrategy {
        self.overflow_strategy
    }

    /// Returns `true` if items with equal content are reduced to one.
    pub fn deduplication(&self) -> bool {
        self.deduplication
    }

    /// Selects from `items` what fits `budget`, in presentation order.
    ///
    /// # Errors
    ///
    /// [`CupelError::PinnedExceedsBudget`] when the pinned items alone do not fit,
    /// [`CupelError::Overflow`] or [`CupelError::CeilingExceeded`] when the selection exceeds the
    /// target or what the output reserve leaves under
    /// [`OverflowStrategy::Throw`], and whatever the slicer refuses.
    pub fn run(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
    ) -> Result<Vec<ContextItem>, CupelError> {
        self.run_traced(items, budget, &mut NullTraceCollector)
    }

    /// As [`run`](Self::run), telling `collector` about every stage and decision.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_traced(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut dyn TraceCollector,
    ) -> Result<Vec<ContextItem>, CupelError> {
        let placed = self.run_positions(items, budget, collector)?;
        // Room for all of them at once: `collect` would not know how many there are.
        let mut selected: Vec<ContextItem> = Vec::with_capacity(placed.len());
        selected.extend(placed.into_iter().filter_map(|position| items.get(position).cloned()));
        trace_selected(|| Summary {
            candidates: items.len(),
            included: selected.len(),
            tokens: selected.iter().fold(0, |sum: i64, item| sum.saturating_add(item.tokens())),
            max_tokens: budget.max_tokens(),
            ..Summary::default()
        });
        Ok(selected)
    }

    /// As [`run_traced`](Self::run_traced), as positions in `items`.
    pub(crate) fn run_positions(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut dyn TraceCollector,
    ) -> Result<Vec<usize>, CupelError> {
        check_count(items)?;
        let span = pipeline_span(items.len(), budget);
        let _entered = span.enter();
        let mut observer = Observer::begin(collector, items.len(), budget);
        let outcome = self.stages(items, budget, &mut observer);
        observer.end(&span, outcome.as_ref().map(|_| ()));
        outcome
    }

    fn stages(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        observer: &mut Observer<'_>,
    ) -> Result<Vec<usize>, CupelError> {
        let classified = classify(items, observer);
        classified.check_pinned(budget)?;
        let ranked = rank(&*self.scorer, self.deduplication, classified, observer);
        let choose = |effective: &ContextBudget| self.slicer.slice(&ranked.sorted, effective);
        let sliced = slice(&choose, self.slicer.name(), &ranked, budget, observer)?;
        let place = self.place_stage(&ranked, budget, &[]);
        place.place(&sliced, observer)
    }

    /// The same pipeline without its overflow observer, for runs that select nothing.
    pub(crate) fn quiet(&self) -> Self {
        Self { overflow_observer: None, ..self.clone() }
    }

    /// Report of what [`run`](Self::run) would select, with the reasons.
    ///
    /// The overflow observer is not told: nothing has happened yet.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn dry_run(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
    ) -> Result<SelectionReport, CupelError> {
        let mut collector = DiagnosticTraceCollector::new(TraceDetailLevel::Stage);
        self.dry_run_traced(items, budget, &mut collector)?;
        Ok(collector.into_report())
    }

    /// As [`dry_run`](Self::dry_run), telling `collector` about every stage and decision.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn dry_run_traced(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut dyn TraceCollector,
    ) -> Result<(), CupelError> {
        self.quiet().run_positions(items, budget, collector).map(|_| ())
    }

    /// The stages that do not depend on the budget.
    pub(crate) fn rank_once<'a>(
        &self,
        items: &'a [ContextItem],
    ) -> Result<RankedItems<'a>, CupelError> {
        check_count(items)?;
        let mut observer = Observer::default();
        let classified = classify(items, &mut observer);
        Ok(rank(&*self.scorer, self.deduplication, classified, &mut observer))
    }

    /// Prepares to select from `ranked` under any number of budgets.
    pub(crate) fn simulate<'s>(&'s self, ranked: &'s RankedItems<'s>) -> Simulation<'s> {
        Simulation { pipeline: self.quiet(), ranked, slice: self.slicer.prepare(&ranked.sorted) }
    }

    /// Places a selection: pinned items, then sliced ones with their scores, in the slicer's
    /// order. `arrival` says which came first, by number. Answers with positions in `items`.
    pub(crate) fn place_selected(
        &self,
        items: &[ContextItem],
        scores: &[f64],
        arrival: &[usize],
        arrived: usize,
        budget: &ContextBudget,
        collector: &mut dyn TraceCollector,
    ) -> Result<Vec<usize>, CupelError> {
        let span = pipeline_span(arrived, budget);
        let _entered = span.enter();
        let mut observer = Observer::begin(collector, arrived, budget);
        let pinned = items.len().saturating_sub(scores.len());
        let (pinned_items, sliced) = items.split_at(pinned);
        let classified = ClassifiedItems {
            items,
            pinned: (0..pinned as u32).collect(),
            pinned_tokens: pinned_items.iter().map(|item| i128::from(item.tokens())).sum(),
            scoreable: Vec::new(),
            scoreable_items: Cow::Borrowed(&[]),
        };
        let scored = sliced.iter().zip(scores).map(|(item, score)| ScoredItem::new(item, *score));
        let ranked = RankedItems {
            classified,
            sorted: scored.collect(),
            positions: (pinned as u32..items.len() as u32).collect(),
        };
        let place = self.place_stage(&ranked, budget, arrival);
        let all: Vec<usize> = (0..scores.len()).collect();
        let fits = ranked.classified.check_pinned(budget);
        let placed = fits.and_then(|()| place.place(&all, &mut observer));
        observer.end(&span, placed.as_ref().map(|_| ()));
        placed
    }

    fn place_stage<'p, 'a>(
        &'p self,
        ranked: &'p RankedItems<'a>,
        budget: &'p ContextBudget,
        arrival: &'p [usize],
    ) -> PlaceStage<'p, 'a> {
        PlaceStage {
            placer: &*self.placer,
            overflow_strategy: self.overflow_strategy,
            overflow_observer: self.overflow_observer.as_ref(),
            ranked,
            budget,
            arrival,
        }
    }
}

/// Builds a [`Pipeline`]. Values, `Arc`s and `Box`es all go in.
///
/// ```
/// use cupel::Pipeline;
///
/// let error = Pipeline::builder().build().unwrap_err();
/// assert_eq!(error.to_string(), "pipeline: no scorer is set; call .scorer(..)");
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a pipeline exists only after build()"]
pub struct PipelineBuilder {
    scorer: Option<Arc<dyn Scorer>>,
    slicer: Option<Arc<dyn Slicer>>,
    placer: Option<Arc<dyn Placer>>,
    overflow_strategy: OverflowStrategy,
    without_deduplication: bool,
    overflow_observer: Option<OverflowObserver>,
}

impl PipelineBuilder {
    /// Sets the scorer of the items.
    pub fn scorer(mut self, scorer: impl Scorer + 'static) -> Self {
        self.scorer = Some(Arc::new(scorer));
        self
    }

    /// Sets the slicer that fills the budget.
    pub fn slicer(mut self, slicer: impl Slicer + 'static) -> Self {
        self.slicer = Some(Arc::new(slicer));
        self
    }

    /// Sets the placer that orders the selection.
    pub fn placer(mut self, placer: impl Placer + 'static) -> Self {
        self.placer = Some(Arc::new(placer));
        self
    }

    /// Sets the reaction when the selection exceeds the target; [`OverflowStrategy::Throw`] unless
    /// set.
    pub fn overflow_strategy(mut self, strategy: OverflowStrategy) -> Self {
        self.overflow_strategy = strategy;
        self
    }

    /// Sets whether items with equal content are reduced to the best one; on unless set.
    pub fn deduplication(mut self, enabled: bool) -> Self {
        self.without_deduplication = !enabled;
        self
    }

    /// Sets the observer of selections that exceed the target under [`OverflowStrategy::Proceed`].
    pub fn overflow_observer(
        mut self,
        observer: impl Fn(&OverflowEvent) + Send + Sync + 'static,
    ) -> Self {
        self.overflow_observer = Some(OverflowObserver(Arc::new(observer)));
        self
    }

    /// Finishes the pipeline.
    ///
    /// # Errors
    ///
    /// [`CupelError::PipelineConfig`] when the scorer, slicer or placer is missing, or an
    /// overflow observer is set that would never be told; [`CupelError::ScorerCycle`] when a
    /// scorer is part of its own dependency graph.
    pub fn build(self) -> Result<Pipeline, CupelError> {
        let missing = |part| {
            CupelError::PipelineConfig(format!("pipeline: no {part} is set; call .{part}(..)"))
        };
        let scorer = self.scorer.ok_or_else(|| missing("scorer"))?;
        let slicer = self.slicer.ok_or_else(|| missing("slicer"))?;
        let placer = self.placer.ok_or_else(|| missing("placer"))?;
        if self.overflow_observer.is_some() && self.overflow_strategy != OverflowStrategy::Proceed {
            return Err(CupelError::PipelineConfig(format!(
                "pipeline: an overflow observer is told only under OverflowStrategy::Proceed, but \
                 the strategy is {}",
                self.overflow_strategy
            )));
        }
        detect_cycles(&*scorer)?;
        Ok(Pipeline {
            scorer,
            slicer,
            placer,
            overflow_strategy: self.overflow_strategy,
            deduplication: !self.without_deduplication,
            overflow_observer: self.overflow_observer,
        })
    }
}

/// Selects from ranked candidates under one budget after another.
pub(crate) struct Simulation<'s> {
    pipeline: Pipeline,
    ranked: &'s RankedItems<'s>,
    slice: PreparedSlice<'s>,
}

impl<'s> Simulation<'s> {
    /// Items that a run under `budget` would select, in no particular order.
    pub(crate) fn select(&self, budget: &ContextBudget) -> Result<Vec<ScoredItem<'s>>, CupelError> {
        let mut observer = Observer::default();
        let sliced = self.slice(budget, &mut observer)?;
        let merged =
            self.pipeline.place_stage(self.ranked, budget, &[]).merge(&sliced, &mut observer)?;
        Ok(merged.into_iter().map(|selected| selected.scored).collect())
    }

    /// Items that a run under `budget` would select, in presentation order.
    pub(crate) fn place(&self, budget: &ContextBudget) -> Result<Vec<&'s ContextItem>, CupelError> {
        let mut observer = Observer::default();
        let sliced = self.slice(budget, &mut observer)?;
        let placed =
            self.pipeline.place_stage(self.ranked, budget, &[]).place(&sliced, &mut observer)?;
        let items = self.ranked.classified.items;
        Ok(placed.into_iter().filter_map(|position| items.get(position)).collect())
    }

    fn slice(
        &self,
        budget: &ContextBudget,
        observer: &mut Observer<'_>,
    ) -> Result<Vec<usize>, CupelError> {
        self.ranked.classified.check_pinned(budget)?;
        slice(&*self.slice, self.pipeline.slicer.name(), self.ranked, budget, observer)
    }
}
