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
mod run;

use std::fmt;
use std::sync::Arc;

use crate::diagnostics::OverflowEvent;
use crate::error::CupelError;
use crate::model::OverflowStrategy;
use crate::placer::Placer;
use crate::scorer::{Scorer, detect_cycles};
use crate::slicer::Slicer;

pub(crate) use rank::Explain;
pub(crate) use run::Simulation;

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
