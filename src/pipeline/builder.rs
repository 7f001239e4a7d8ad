//! Puts a pipeline together.

use std::sync::Arc;

use super::parts::{OverflowObserver, Pipeline};
use crate::diagnostics::OverflowEvent;
use crate::error::CupelError;
use crate::model::OverflowStrategy;
use crate::placer::Placer;
use crate::scorer::{Scorer, detect_cycles};
use crate::slicer::Slicer;

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

impl Pipeline {
    /// Starts a pipeline.
    pub fn builder() -> PipelineBuilder {
        PipelineBuilder::default()
    }
}

impl PipelineBuilder {
    /// Sets how items are scored.
    pub fn scorer(mut self, scorer: impl Scorer + 'static) -> Self {
        self.scorer = Some(Arc::new(scorer));
        self
    }

    /// Sets how the budget is filled.
    pub fn slicer(mut self, slicer: impl Slicer + 'static) -> Self {
        self.slicer = Some(Arc::new(slicer));
        self
    }

    /// Sets how the selection is ordered.
    pub fn placer(mut self, placer: impl Placer + 'static) -> Self {
        self.placer = Some(Arc::new(placer));
        self
    }

    /// Sets what happens when the selection exceeds the target; [`OverflowStrategy::Throw`]
    /// unless set.
    pub fn overflow_strategy(mut self, strategy: OverflowStrategy) -> Self {
        self.overflow_strategy = strategy;
        self
    }

    /// Sets whether items with equal content are reduced to the best one; on unless set.
    pub fn deduplication(mut self, enabled: bool) -> Self {
        self.without_deduplication = !enabled;
        self
    }

    /// Sets who is told when the selection exceeds the target under
    /// [`OverflowStrategy::Proceed`].
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
