//! Two judges as one.

use std::fmt;

use super::{Candidate, Hint, Judge, Question, Verdict};
use crate::error::{ConfigError, CupelError};

/// Mixes the hints of two judges: words as [`Lexical`](super::Lexical) sees them, and what a model
/// says of their meaning.
///
/// The first judge decides whether there is anything to go by, and its words stay in the hint. The
/// second one's share is its weight: 0 leaves the first as it is, 1 puts the second in its place. A
/// second judge that has nothing to say of a question changes nothing; one that gives a wrong number
/// of hints, or a hint that is no number from 0 to 1, is reported as any judge is.
///
/// ```
/// use cupel::relevance::{Blend, Candidate, Hint, Judge, Lexical, Question, judge_fn};
///
/// // Stands for a model.
/// let meaning = judge_fn("meaning", |_: &Question, candidate: &Candidate<'_>| {
///     Hint::new(if candidate.text.contains("automobile") { 0.8 } else { 0.0 })
/// });
/// let judge = Blend::new(Lexical::new(), meaning).weight(0.5)?;
/// let texts = ["An automobile for hire.", "Nice weather."].map(|text| Candidate::new(text, 6));
/// let verdict = judge.judge(&Question::new("Where can I rent a car?"), &texts).unwrap();
/// assert_eq!(verdict.hints[0].value(), 0.4);
/// assert_eq!(verdict.hints[1].value(), 0.0);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Blend<A, B> {
    first: A,
    second: B,
    weight: f64,
    name: String,
}

/// The second judge's share unless set.
///
/// Of 0.1 to 0.5 it keeps the most evidence over seven sets of questions with static embeddings of two
/// models (`cargo bench --bench evidence`): more helps on conversations, and costs on documents and
/// meetings, where the words say more.
pub const DEFAULT_BLEND_WEIGHT: f64 = 0.3;

impl<A: Judge, B: Judge> Blend<A, B> {
    /// Mixes two judges by the [default weight](DEFAULT_BLEND_WEIGHT).
    pub fn new(first: A, second: B) -> Self {
        let name = format!("{} and {}", first.name(), second.name());
        Self { first, second, weight: DEFAULT_BLEND_WEIGHT, name }
    }

    /// Sets the second judge's share.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerConfig`] when it is not from 0 to 1.
    pub fn weight(mut self, weight: f64) -> Result<Self, CupelError> {
        if !(0.0..=1.0).contains(&weight) {
            let message = format!("must be from 0 to 1, got {weight}");
            return Err(CupelError::ScorerConfig(ConfigError::new("Blend", "weight", message)));
        }
        self.weight = weight;
        Ok(self)
    }
}

/// The mean of two hints by the second one's weight. What has none of the weight is not looked at.
pub(crate) fn mixed(first: f64, second: f64, weight: f64) -> f64 {
    if weight == 0.0 {
        first
    } else if weight == 1.0 {
        second
    } else {
        first + (second - first) * weight
    }
}

impl<A: Judge, B: Judge> Judge for Blend<A, B> {
    fn judge(&self, question: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict> {
        let first = self.first.judge(question, candidates)?;
        let Some(second) = self.second.judge(question, candidates) else { return Some(first) };
        let weight = self.weight;
        let mix = move |first: &Hint, second: &Hint| {
            first.clone().with_value(mixed(first.value(), second.value(), weight))
        };
        let right = [first.hints.len(), second.hints.len()] == [candidates.len(); 2];
        let hints = match right {
            true => first.hints.iter().zip(&second.hints).map(|(a, b)| mix(a, b)).collect(),
            // Handed on as it is, so that whoever asked can say what is wrong.
            false if first.hints.len() == candidates.len() => second.hints.clone(),
            false => first.hints.clone(),
        };
        let further = move |candidate: &Candidate<'_>| {
            mix(&first.further(candidate), &second.further(candidate))
        };
        Some(Verdict::new(hints, further))
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn steps(&self, candidates: &[Candidate<'_>]) -> Option<u64> {
        Some(self.first.steps(candidates)?.saturating_add(self.second.steps(candidates)?))
    }
}

impl<A, B> fmt::Debug for Blend<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blend").field("name", &self.name).field("weight", &self.weight).finish()
    }
}
