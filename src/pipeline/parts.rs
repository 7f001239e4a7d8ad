//! The pipeline's parts.

use std::fmt;
use std::sync::Arc;

use crate::diagnostics::OverflowEvent;
use crate::model::OverflowStrategy;
use crate::placer::Placer;
use crate::scorer::Scorer;
use crate::slicer::Slicer;

#[derive(Clone)]
pub(super) struct OverflowObserver(pub(super) Arc<dyn Fn(&OverflowEvent) + Send + Sync>);

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
    pub(super) scorer: Arc<dyn Scorer>,
    pub(super) slicer: Arc<dyn Slicer>,
    pub(super) placer: Arc<dyn Placer>,
    pub(super) overflow_strategy: OverflowStrategy,
    pub(super) deduplication: bool,
    pub(super) overflow_observer: Option<OverflowObserver>,
}

impl Pipeline {
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

    /// Reaction when the selection exceeds the target.
    #[must_use]
    pub fn overflow_strategy(&self) -> OverflowStrategy {
        self.overflow_strategy
    }

    /// Returns `true` if items with equal content are reduced to one.
    #[must_use]
    pub fn deduplication(&self) -> bool {
        self.deduplication
    }
}
