//! The six stages: classify, score, deduplicate, sort, slice, place.
//!
//! ```
//! use cupel::{
//!     ContextBudget, ContextItem, ContextKind, GreedySlice, Pipeline, ReflexiveScorer, UShapedPlacer,
//! };
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

mod builder;
mod observe;
mod place;
mod rank;
mod simulate;
mod slice;

use std::fmt;
use std::sync::Arc;

use crate::diagnostics::{
    DiagnosticTraceCollector, NullTraceCollector, OverflowEvent, SelectionReport, TraceCollector,
    TraceDetailLevel, spans,
};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, OverflowStrategy, ScoredItem};
use crate::placer::Placer;
use crate::scorer::Scorer;
use crate::slicer::Slicer;

pub use builder::PipelineBuilder;
use observe::Observer;
use place::Place;
use rank::Classified;
pub(crate) use simulate::Simulation;
pub(crate) use slice::Explain;

/// What the first four stages make of the candidates, whatever the budget.
pub(crate) struct Ranked<'a> {
    classified: Classified<'a>,
    /// Scored, unique, by score from the highest down.
    sorted: Vec<ScoredItem<'a>>,
    /// Where each of them stands among all candidates.
    positions: Vec<u32>,
}

impl<'a> Ranked<'a> {
    pub(crate) fn pinned_tokens(&self) -> i128 {
        self.classified.pinned_tokens
    }

    /// What a slicer chooses from.
    pub(crate) fn sorted(&self) -> &[ScoredItem<'a>] {
        &self.sorted
    }
}

#[derive(Clone)]
struct OverflowObserver(Arc<dyn Fn(&OverflowEvent) + Send + Sync>);

impl fmt::Debug for OverflowObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OverflowObserver")
    }
}

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
        let mut pipeline = self.clone();
        scorer.into_iter().for_each(|scorer| pipeline.scorer = scorer);
        slicer.into_iter().for_each(|slicer| pipeline.slicer = slicer);
        pipeline
    }

    /// Selects from `items` what fits `budget`, in presentation order.
    ///
    /// # Errors
    ///
    /// [`CupelError::PinnedExceedsBudget`] when the pinned items alone do not fit,
    /// [`CupelError::Overflow`] or [`CupelError::CeilingExceeded`] when the selection exceeds the
    /// target or what the output reserve leaves under [`OverflowStrategy::Throw`], and whatever the slicer refuses.
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
    pub fn run_traced<C: TraceCollector + ?Sized>(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut C,
    ) -> Result<Vec<ContextItem>, CupelError> {
        let placed = self.execute(items, budget, collector, self.overflow_observer.as_ref())?;
        // Room for all of them at once: `collect` would not know how many there are.
        let mut selected: Vec<ContextItem> = Vec::with_capacity(placed.len());
        selected.extend(placed.into_iter().filter_map(|position| items.get(position).cloned()));
        spans::selected(|| spans::Summary {
            candidates: items.len(),
            included: selected.len(),
            tokens: selected.iter().fold(0, |sum: i64, item| sum.saturating_add(item.tokens())),
            max_tokens: budget.max_tokens(),
            ..spans::Summary::default()
        });
        Ok(selected)
    }

    /// As [`run_traced`](Self::run_traced), as positions in `items`.
    pub(crate) fn run_positions<C: TraceCollector>(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut C,
    ) -> Result<Vec<usize>, CupelError> {
        self.execute(items, budget, collector, self.overflow_observer.as_ref())
    }

    /// What [`run`](Self::run) would select, with the reasons.
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
    pub fn dry_run_traced<C: TraceCollector + ?Sized>(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut C,
    ) -> Result<(), CupelError> {
        self.dry_run_positions(items, budget, collector).map(|_| ())
    }

    /// As [`dry_run_traced`](Self::dry_run_traced), with the positions in `items` of what is selected.
    pub(crate) fn dry_run_positions<C: TraceCollector + ?Sized>(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut C,
    ) -> Result<Vec<usize>, CupelError> {
        self.execute(items, budget, collector, None)
    }

    /// The scorer.
    #[must_use]
    pub fn scorer(&self) -> &Arc<dyn Scorer> {
        &self.scorer
    }

    /// The slicer.
    #[must_use]
    pub fn slicer(&self) -> &Arc<dyn Slicer> {
        &self.slicer
    }

    /// The placer.
    #[must_use]
    pub fn placer(&self) -> &Arc<dyn Placer> {
        &self.placer
    }

    /// What happens when the selection exceeds the target.
    #[must_use]
    pub fn overflow_strategy(&self) -> OverflowStrategy {
        self.overflow_strategy
    }

    /// Whether items with equal content are reduced to one.
    #[must_use]
    pub fn deduplication(&self) -> bool {
        self.deduplication
    }

    /// The one code path behind every public way to run: the positions of what is selected.
    fn execute<C: TraceCollector + ?Sized>(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        collector: &mut C,
        on_overflow: Option<&OverflowObserver>,
    ) -> Result<Vec<usize>, CupelError> {
        check_count(items)?;
        let span = spans::pipeline(items.len(), budget);
        let _entered = span.enter();
        let mut observer = Observer::begin(collector, items.len(), budget);
        let outcome = self.stages(items, budget, &mut observer, on_overflow);
        observer.end(&span, outcome.as_ref().map(|_| ()));
        outcome
    }

    fn stages<C: TraceCollector + ?Sized>(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        observer: &mut Observer<'_, C>,
        on_overflow: Option<&OverflowObserver>,
    ) -> Result<Vec<usize>, CupelError> {
        let classified = rank::classify(items, observer);
        classified.check_pinned(budget)?;
        let ranked = self.rank(classified, observer);
        let slice = |effective: &ContextBudget| self.slicer.slice(&ranked.sorted, effective);
        let sliced = slice::slice(&slice, self.slicer.name(), &ranked, budget, observer)?;
        let place = Place { pipeline: self, ranked: &ranked, budget, arrival: &[], on_overflow };
        place.place(&sliced, observer)
    }

    /// Stages 2 to 4, which do not depend on the budget.
    fn rank<'a, C: TraceCollector + ?Sized>(
        &self,
        classified: Classified<'a>,
        observer: &mut Observer<'_, C>,
    ) -> Ranked<'a> {
        let scores = rank::score(&*self.scorer, &classified, observer);
        let items = &*classified.scoreable_items;
        let dropped = rank::deduplicate(items, &scores, self.deduplication, observer);
        let (sorted, positions) = rank::sort(&classified, &scores, &dropped);
        Ranked { classified, sorted, positions }
    }
}

/// Positions are counted in 32 bits.
fn check_count(items: &[ContextItem]) -> Result<(), CupelError> {
    let most = u32::MAX as usize - 1;
    if items.len() > most {
        return Err(CupelError::PipelineConfig(format!(
            "at most {most} items can be selected from, got {}",
            items.len()
        )));
    }
    Ok(())
}
