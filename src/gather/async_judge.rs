//! Judges that have to be waited for, such as embeddings behind a network and re-rankers.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;

use super::BoxError;
use crate::names::short_type_name;
use crate::policy::Relevance;
use crate::relevance::{Candidate, DEFAULT_BLEND_WEIGHT, Question};

/// Says how close texts are to a question, and has to be waited for.
///
/// **What leaves the process**: the question, and the whole texts of the candidates that compete for
/// a place and came without a hint of their own, go wherever the judge sends them. What is pinned, and
/// in a [planned](crate::conversation::plan) turn what is sent anyway, is not shown to it.
///
/// An answer is to be a function of the question and that one text, whatever else it is asked with:
/// candidates are asked about in batches as they arrive, and a plan keeps its bytes from call to call
/// only while the same text keeps its hint. See [`is_deterministic`](Self::is_deterministic).
///
/// ```
/// use async_trait::async_trait;
/// use cupel::gather::BoxError;
/// use cupel::layer::AsyncJudge;
/// use cupel::relevance::{Candidate, Question};
///
/// struct Remote;
///
/// #[async_trait]
/// impl AsyncJudge for Remote {
///     async fn judge(
///         &self,
///         question: &Question,
///         candidates: &[Candidate<'_>],
///     ) -> Result<Vec<f64>, BoxError> {
///         // Stands for a call over the network.
///         let alike = |text: &str| text.len().abs_diff(question.text().len());
///         Ok(candidates.iter().map(|it| 1.0 / (1.0 + alike(it.text) as f64)).collect())
///     }
/// }
///
/// assert_eq!(Remote.name(), "Remote");
/// ```
#[async_trait]
pub trait AsyncJudge: Send + Sync {
    /// Returns how close each candidate is to the question, in their order: numbers from 0 to 1 on a
    /// fixed map. Other answers are ignored.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from answering: the call goes on without it, and the report has the error.
    async fn judge(
        &self,
        question: &Question,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<f64>, BoxError>;

    /// As [`judge`](Self::judge), and counts what it took, for the report. A judge that asks a model
    /// overrides both; other judges need not.
    ///
    /// # Errors
    ///
    /// As [`judge`](Self::judge).
    async fn judge_counted(
        &self,
        question: &Question,
        candidates: &[Candidate<'_>],
        work: &JudgeWork,
    ) -> Result<Vec<f64>, BoxError> {
        let _ = work;
        self.judge(question, candidates).await
    }

    /// The name to use in reports; the type's name unless overridden.
    fn name(&self) -> &str {
        short_type_name::<Self>()
    }

    /// Returns true if equal questions and texts have exactly equal answers, on every replica; `false`
    /// unless overridden.
    ///
    /// Models behind an API answer with slightly other numbers each time. Two texts that are about
    /// as close would then change places from call to call, and what is sent with them: the
    /// provider's prompt cache would be lost for nothing. So the answers of such a judge are rounded
    /// to [fixed steps](WaitingJudge::steps), and what falls on one step keeps the order that the
    /// words and the conversation give it.
    fn is_deterministic(&self) -> bool {
        false
    }
}

#[async_trait]
impl<J: AsyncJudge + ?Sized> AsyncJudge for Arc<J> {
    async fn judge(
        &self,
        question: &Question,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<f64>, BoxError> {
        (**self).judge(question, candidates).await
    }

    async fn judge_counted(
        &self,
        question: &Question,
        candidates: &[Candidate<'_>],
        work: &JudgeWork,
    ) -> Result<Vec<f64>, BoxError> {
        (**self).judge_counted(question, candidates, work).await
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn is_deterministic(&self) -> bool {
        (**self).is_deterministic()
    }
}

/// Work of an [`AsyncJudge`] in one call, for the report: requests to its model, and texts that it knew.
#[derive(Debug, Default)]
pub struct JudgeWork {
    requests: AtomicUsize,
    cached: AtomicUsize,
}

impl JudgeWork {
    /// Counts a request to the model.
    pub fn add_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts texts, or pieces of texts, whose vectors or scores were known.
    pub fn add_cached(&self, texts: usize) {
        self.cached.fetch_add(texts, Ordering::Relaxed);
    }

    /// Requests to the model.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// Texts that were known.
    #[must_use]
    pub fn cached(&self) -> usize {
        self.cached.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for dyn AsyncJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Settings of an [`AsyncJudge`] in a layer: its deadline, and the weight of its answer.
///
/// The judge is asked beside the sources, about the request's own candidates first and about what
/// sources bring as it arrives. Its answers are mixed with the hints of the policy's own judge. Where
/// that one finds [nothing to go by](crate::relevance::Judge::judge) in a question ("go on"), this one
/// is not asked either.
///
/// A judge that is late, fails, panics or answers wrongly costs its call that part and nothing else:
/// what it has not judged keeps the hint of the policy's judge, and
/// [`GatherReport::judge`](super::GatherReport::judge) says what happened.
///
/// In a layer that [selects while gathering](crate::layer::CupelLayerBuilder::select_while_gathering),
/// items wait for the judge before they are scored, in batches: all that came while the batch before was
/// judged. The selection is the one that a batch with the same hints would give.
///
/// ```
/// use std::time::Duration;
/// # use cupel::layer::AsyncJudge;
/// use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer, WaitingJudge};
/// use cupel::{ContextBudget, Policy};
/// # struct Remote;
/// # #[async_trait::async_trait]
/// # impl AsyncJudge for Remote {
/// #     async fn judge(
/// #         &self,
/// #         _: &cupel::relevance::Question,
/// #         candidates: &[cupel::relevance::Candidate<'_>],
/// #     ) -> Result<Vec<f64>, cupel::gather::BoxError> {
/// #         Ok(vec![0.0; candidates.len()])
/// #     }
/// # }
///
/// let layer = CupelLayer::<ContextRequest<()>, _>::builder()
///     .adapter(ContextRequestAdapter)
///     .policy(Policy::chat()) // its judge compares words
///     .budget(ContextBudget::builder(8_192).build()?)
///     .waiting_judge(WaitingJudge::new(Remote).deadline(Duration::from_millis(300)))
///     .build()?;
/// # let _ = layer;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct WaitingJudge {
    pub(crate) judge: Arc<dyn AsyncJudge>,
    pub(crate) weight: f64,
    pub(crate) deadline: Duration,
    steps: Option<u32>,
}

impl WaitingJudge {
    /// Time that a judge may take by default.
    pub const DEFAULT_DEADLINE: Duration = Duration::from_millis(500);

    /// The steps from 0 to 1 to which the answers of a judge that is not deterministic are rounded.
    /// Fewer would make more texts equal, more would let more of them change places.
    pub const DEFAULT_STEPS: u32 = 32;

    /// Asks this judge. Values and `Arc`s go in.
    pub fn new(judge: impl AsyncJudge + 'static) -> Self {
        let steps = (!judge.is_deterministic()).then_some(Self::DEFAULT_STEPS);
        let judge = Arc::new(judge);
        Self { judge, weight: DEFAULT_BLEND_WEIGHT, deadline: Self::DEFAULT_DEADLINE, steps }
    }

    /// Sets the share of its answer in a hint; [0.3](DEFAULT_BLEND_WEIGHT) unless set. With 1 its
    /// answers stand in the place of the others, which are then used only where it has none.
    pub fn weight(mut self, share: f64) -> Self {
        self.weight = share;
        self
    }

    /// Sets how long its answers are waited for, from the beginning of gathering on, all batches
    /// together; half a second unless set, and never longer than the
    /// [gather deadline](crate::layer::CupelLayerBuilder::gather_deadline).
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Rounds its answers to so many steps from 0 to 1; none takes them as they are. Unless set, it
    /// is [32](Self::DEFAULT_STEPS) for a judge that is not
    /// [deterministic](AsyncJudge::is_deterministic), and none for one that is.
    pub fn steps(mut self, steps: impl Into<Option<u32>>) -> Self {
        self.steps = steps.into();
        self
    }

    /// The judge of a policy that a file describes.
    pub(crate) fn of_policy(relevance: &Relevance) -> Option<Self> {
        let waiting = relevance.waiting.as_ref()?;
        let settings = waiting.settings.downcast_ref::<Self>()?;
        Some(settings.clone().weight(waiting.weight))
    }

    /// Checks the settings. The error says what is wrong with them.
    pub(crate) fn check(&self) -> Result<(), String> {
        let name = self.judge.name();
        if name.trim().is_empty() {
            return Err("the waiting judge has no name; give it one".to_owned());
        }
        if !(0.0..=1.0).contains(&self.weight) {
            let weight = self.weight;
            return Err(format!(
                "the waiting judge {name:?} has a weight of {weight}, expected a number from 0 to 1"
            ));
        }
        if self.deadline.is_zero() {
            return Err(format!(
                "the waiting judge {name:?} has a deadline of zero; give it time, or leave it out"
            ));
        }
        if self.steps == Some(0) {
            return Err(format!(
                "the waiting judge {name:?} is rounded to 0 steps, expected at least 1, or none"
            ));
        }
        Ok(())
    }

    /// An answer as it is used; none when it is not believed.
    pub(crate) fn believed(&self, answer: f64) -> Option<f64> {
        let answer = (0.0..=1.0).contains(&answer).then_some(answer)?;
        Some(match self.steps {
            Some(steps) => (answer * f64::from(steps)).round() / f64::from(steps),
            None => answer,
        })
    }
}

/// A judge that has to be waited for, as the model of a policy file. The file's weight counts.
#[cfg(feature = "serde")]
impl From<WaitingJudge> for crate::policy::spec::MeaningModel {
    fn from(judge: WaitingJudge) -> Self {
        Self::with_waiting(Arc::new(judge))
    }
}
