//! Two judges as one.

use std::fmt;

use super::neighbours::WHOLE_SHARE;
use super::{Candidate, Hint, Judge, JudgeTask, Question, Verdict};
use crate::error::{ConfigError, CupelError};

/// Mixes the hints of two judges: words as [`Lexical`](super::Lexical) sees them, and what a model
/// says of their meaning.
///
/// The first judge decides whether there is anything to go by, and its words stay in the hint. The
/// second one's share is its weight: 0 leaves the first as it is, 1 puts the second in its place. A
/// second judge that has nothing to say of a question changes nothing; one that gives a wrong number
/// of hints, or a hint that is no number from 0 to 1, is reported as any judge is.
///
/// The hints of both for a text alone are mixed. After that, neighbours in a conversation
/// [lend](Verdict::with_neighbours) each other of the mixed hints.
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

impl Verdict {
    /// This verdict with another judge's answers about the same texts: both are mixed text by text, and
    /// then neighbours lend. Later texts are judged as before.
    pub(crate) fn mixed_with(
        mut self,
        task: &JudgeTask,
        answers: &[Option<f64>],
        weight: f64,
    ) -> Self {
        let alone: Vec<f64> =
            (0..self.hints.len()).map(|at| self.alone(at).unwrap_or(0.0)).collect();
        let answers = with_wholes(&task.candidates(), answers);
        for ((hint, alone), answer) in self.hints.iter_mut().zip(alone).zip(answers) {
            let value = answer.map_or(alone, |answer| mixed(alone, answer, weight));
            *hint = hint.clone().with_value(value);
        }
        self.with_neighbours(task.question(), &task.candidates())
    }
}

/// Adds to the answer about each passage a share of the best one of its message, as the words do: passages of
/// one message follow each other and have the same place.
fn with_wholes(candidates: &[Candidate<'_>], answers: &[Option<f64>]) -> Vec<Option<f64>> {
    let same = |a: &Candidate<'_>, b: &Candidate<'_>| a.place.is_some() && a.place == b.place;
    let (mut all, mut rest) = (Vec::with_capacity(answers.len()), answers);
    for run in candidates.chunk_by(same) {
        let (passages, later) = rest.split_at(run.len().min(rest.len()));
        rest = later;
        let best = passages.iter().flatten().copied().fold(0.0, f64::max);
        let with_best = |answer: f64| (answer + WHOLE_SHARE * best) / (1.0 + WHOLE_SHARE);
        all.extend(passages.iter().map(|answer| match run.len() {
            1 => *answer,
            _ => answer.map(with_best),
        }));
    }
    all
}

impl<A: Judge, B: Judge> Judge for Blend<A, B> {
    fn judge(&self, question: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict> {
        let first = self.first.judge(question, candidates)?;
        let Some(second) = self.second.judge(question, candidates) else { return Some(first) };
        let weight = self.weight;
        if weight == 0.0 {
            return Some(first);
        }
        let right = [first.hints.len(), second.hints.len()] == [candidates.len(); 2];
        let hints = match right {
            true => {
                let mix = |(at, hint): (usize, &Hint)| {
                    let [a, b] = [&first, &second].map(|it| it.alone(at).unwrap_or(f64::NAN));
                    hint.clone().with_value(mixed(a, b, weight))
                };
                first.hints.iter().enumerate().map(mix).collect()
            }
            // Handed on as it is, so that whoever asked can say what is wrong.
            false if first.hints.len() == candidates.len() => second.hints.clone(),
            false => first.hints.clone(),
        };
        let further = move |candidate: &Candidate<'_>| {
            let (first, second) = (first.further(candidate), second.further(candidate));
            let value = mixed(first.value(), second.value(), weight);
            first.with_value(value)
        };
        Some(Verdict::new(hints, further).with_neighbours(question, candidates))
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
