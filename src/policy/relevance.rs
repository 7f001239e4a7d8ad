//! Use of the question by a policy: the judge, and the items that it has judged.

use std::any::Any;
use std::sync::Arc;

use crate::error::{ConfigError, CupelError};
use crate::model::ContextItem;
use crate::pipeline::Pipeline;
use crate::relevance::{Judge, RelevanceReport};
use crate::scorer::Scorer;
use crate::slicer::Slicer;

/// Judge of a policy, and the scorer and slicer for calls with a question.
///
/// ```
/// use cupel::relevance::{Lexical, Question};
/// use cupel::policy::Relevance;
/// use cupel::{ContextBudget, ContextItem, Policy, ReflexiveScorer};
/// use cupel::placer::AgePlacer;
/// use cupel::scorer::AgeScorer;
/// use cupel::slicer::BestFirstSlice;
///
/// // The newest first; with a question, what is closest to it.
/// let policy = Policy::builder()
///     .scorer(AgeScorer)
///     .slicer(BestFirstSlice)
///     .placer(AgePlacer)
///     .relevance(Relevance::new(Lexical::new()).scorer(ReflexiveScorer))
///     .build()?;
/// let items = [
///     ContextItem::new("The courier lost the parcel.", 40)?,
///     ContextItem::new("Thank you!", 30)?,
/// ];
/// let budget = ContextBudget::builder(50).build()?;
/// let newest = policy.dry_run(&items, &budget)?;
/// assert_eq!(newest.included[0].item.content(), "Thank you!");
///
/// let asked = policy.dry_run_for(&Question::new("What about my parcel?"), &items, &budget)?;
/// assert_eq!(asked.included[0].item.content(), "The courier lost the parcel.");
/// assert_eq!(asked.included[0].item.matched_words().collect::<Vec<_>>(), ["parcel"]);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Relevance {
    pub(super) judge: Arc<dyn Judge>,
    pub(super) blend: f64,
    pub(super) scorer: Option<Arc<dyn Scorer>>,
    pub(super) slicer: Option<Arc<dyn Slicer>>,
    /// The judge as a file wrote it, if it cannot be told from the judge.
    #[cfg(feature = "serde")]
    pub(super) written: Option<Arc<dyn Any + Send + Sync>>,
    /// Model that a layer waits for.
    pub(crate) waiting: Option<WaitingModel>,
}

/// Model that has to be waited for. A layer knows the type of its settings.
#[derive(Debug, Clone)]
pub(crate) struct WaitingModel {
    pub(crate) settings: Arc<dyn Any + Send + Sync>,
    /// Its share in a hint.
    pub(crate) weight: f64,
}

impl Relevance {
    /// Judges with this judge. Values, `Arc`s and `Box`es all go in.
    pub fn new(judge: impl Judge + 'static) -> Self {
        Self {
            judge: Arc::new(judge),
            blend: 0.0,
            scorer: None,
            slicer: None,
            #[cfg(feature = "serde")]
            written: None,
            waiting: None,
        }
    }

    /// The same with another judge, such as a [`Blend`](crate::relevance::Blend) of this one and
    /// another.
    pub fn with_judge(mut self, judge: impl Judge + 'static) -> Self {
        self.judge = Arc::new(judge);
        self.waiting = None;
        #[cfg(feature = "serde")]
        {
            self.written = None;
        }
        self
    }

    /// Remembers the judge as a file wrote it, and the model that a layer waits for.
    #[cfg(feature = "serde")]
    pub(super) fn written_as(
        mut self,
        written: Arc<dyn Any + Send + Sync>,
        waiting: Option<WaitingModel>,
    ) -> Self {
        (self.written, self.waiting) = (Some(written), waiting);
        self
    }

    /// Mixes this share of the judge's hint into the hint that an item already has, such as that of a
    /// retriever. Such hints stay unchanged unless set.
    pub fn blend(mut self, share: f64) -> Self {
        self.blend = share;
        self
    }

    /// Sets the scorer for calls with a question; the policy's own unless set.
    pub fn scorer(mut self, scorer: impl Scorer + 'static) -> Self {
        self.scorer = Some(Arc::new(scorer));
        self
    }

    /// Sets the slicer for calls with a question; the policy's own unless set.
    pub fn slicer(mut self, slicer: impl Slicer + 'static) -> Self {
        self.slicer = Some(Arc::new(slicer));
        self
    }

    /// The judge.
    pub fn judge(&self) -> &Arc<dyn Judge> {
        &self.judge
    }

    /// The judge's share in the hint of an item that came with one.
    pub fn blended(&self) -> f64 {
        self.blend
    }

    pub(crate) fn check(&self) -> Result<(), CupelError> {
        if (0.0..=1.0).contains(&self.blend) {
            return Ok(());
        }
        let message = format!("must be from 0 to 1, got {}", self.blend);
        Err(CupelError::ScorerConfig(ConfigError::new("Relevance", "blend", message)))
    }

    /// The pipeline for calls with a question.
    pub(crate) fn pipeline(&self, pipeline: &Pipeline) -> Pipeline {
        pipeline.with_parts(self.scorer.clone(), self.slicer.clone())
    }
}

/// Candidates with the hints of a policy's judge, and the pipeline to select from them with:
/// see [`Policy::judge`](super::Policy::judge).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JudgedItems {
    /// The items, in their order.
    pub items: Vec<ContextItem>,
    /// Pipeline to select from them with.
    pub pipeline: Pipeline,
    /// Outcome of judging.
    pub report: RelevanceReport,
}
