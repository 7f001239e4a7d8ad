//! Stretches another scorer's output over the whole range.

use std::sync::Arc;

use super::{ScoreParts, Scorer, ScorerFacts, detect_cycles};
use crate::error::CupelError;
use crate::model::ContextItem;

/// Min-max normalisation of an inner scorer over all candidates.
///
/// The lowest inner score becomes 0.0, the highest 1.0; when they are all equal, all become 0.5.
/// A pass over all candidates asks the inner scorer once, however deep the nesting.
///
/// ```
/// use cupel::{ContextItem, ReflexiveScorer, ScaledScorer, Scorer};
///
/// let hint = |text, hint| ContextItem::builder(text, 1).future_relevance_hint(hint).build();
/// let items = [hint("a", 0.30)?, hint("b", 0.40)?, hint("c", 0.50)?];
/// let scorer = ScaledScorer::new(ReflexiveScorer)?;
/// let mut scores = [0.0; 3];
/// scorer.score_all(&items, &mut scores);
/// assert!((scores[1] - 0.5).abs() < 1e-12);
/// assert_eq!((scores[0], scores[2]), (0.0, 1.0));
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ScaledScorer {
    pub(crate) inner: Arc<dyn Scorer>,
}

impl ScaledScorer {
    /// Wraps a scorer.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerCycle`] when the inner scorer is part of its own dependency graph;
    /// [`CupelError::ScorerConfig`] when scorers nest more than 256 levels deep.
    pub fn new(inner: impl Scorer + 'static) -> Result<Self, CupelError> {
        let scaled = Self { inner: Arc::new(inner) };
        detect_cycles(&scaled)?;
        Ok(scaled)
    }
}

/// The smallest and the largest score; NaN counts as neither.
fn bounds(scores: &[f64]) -> (f64, f64) {
    scores.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), &score| {
        (if score < min { score } else { min }, if score > max { score } else { max })
    })
}

/// Nothing is known when all scores are equal: the middle of the range says so.
const NO_INFORMATION: f64 = 0.5;

fn scale(score: f64, (min, max): (f64, f64)) -> f64 {
    if max == min {
        return NO_INFORMATION;
    }
    (score - min) / (max - min)
}

impl Scorer for ScaledScorer {
    fn score(&self, item: &ContextItem, all: &[ContextItem]) -> f64 {
        if all.is_empty() {
            return NO_INFORMATION;
        }
        let mut scores = vec![0.0; all.len()];
        self.inner.score_all(all, &mut scores);
        // An item that is not among its peers has no raw score, and so no number as its answer.
        let own = all
            .iter()
            .zip(&scores)
            .rfind(|(other, _)| ContextItem::same(other, item))
            .map_or(f64::NAN, |(_, score)| *score);
        scale(own, bounds(&scores))
    }

    fn score_all(&self, items: &[ContextItem], scores: &mut [f64]) {
        self.inner.score_all(items, scores);
        let bounds = bounds(scores);
        for score in scores {
            *score = scale(*score, bounds);
        }
    }

    fn explain_all(&self, items: &[ContextItem]) -> Vec<ScoreParts> {
        let parts = self.inner.explain_all(items);
        let scores: Vec<f64> = parts.iter().map(|part| part.score).collect();
        let (min, max) = bounds(&scores);
        let whole = |part: ScoreParts| {
            ScoreParts::new(self.name(), scale(part.score, (min, max)))
                .note(format!("{min:.3} to {max:.3}, stretched"))
                .part(part)
        };
        parts.into_iter().map(whole).collect()
    }

    fn facts(&self) -> ScorerFacts {
        ScorerFacts { absolute: false, ..self.inner.facts() }
    }

    fn steps(&self, items: &[ContextItem]) -> u64 {
        self.inner.steps(items)
    }

    fn visit_children(&self, visit: &mut dyn FnMut(&dyn Scorer)) {
        visit(&*self.inner);
    }

    crate::names::as_any!();
}
