//! Scorers that are made of others: a weighted average, and one that stretches scores over the whole range.

use std::sync::Arc;

use super::{ScoreParts, Scorer, ScorerFacts, detect_cycles};
use crate::config::{Path, Problems};
use crate::error::CupelError;
use crate::model::ContextItem;

/// The weighted average of its children, weights normalised to add up to 1.
///
/// ```
/// use cupel::{ContextItem, ReflexiveScorer, Scorer};
/// use cupel::scorer::{CompositeScorer, KindScorer};
///
/// let scorer = CompositeScorer::builder()
///     .add(ReflexiveScorer, 3.0)
///     .add(KindScorer::default(), 1.0)
///     .build()?;
/// let item = ContextItem::builder("hit", 2).future_relevance_hint(0.8).build()?;
/// // 0.8 * 0.75 + 0.2 * 0.25
/// assert!((scorer.score(&item, &[]) - 0.65).abs() < 1e-12);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CompositeScorer {
    children: Vec<CompositePart>,
}

#[derive(Debug, Clone)]
struct CompositePart {
    scorer: Arc<dyn Scorer>,
    weight: f64,
    /// The share of the total weight.
    share: f64,
}

impl CompositeScorer {
    /// Creates a composite from scorers and their relative weights.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerConfig`] when there are no entries, a weight is not a finite number
    /// above zero, or the weights add up to infinity; [`CupelError::ScorerCycle`] when a scorer
    /// is part of its own dependency graph.
    pub fn new(entries: Vec<(Arc<dyn Scorer>, f64)>) -> Result<Self, CupelError> {
        let path = Path::Root.key("scorers");
        let mut problems = Problems::default();
        if entries.is_empty() {
            problems.add(&path, "must have at least one scorer, got none");
        }
        for (index, (_, weight)) in entries.iter().enumerate() {
            problems.positive(&path.index(index).key("weight"), *weight);
        }
        problems.finite_sum(&path, entries.iter().map(|(_, weight)| *weight));
        problems.scorer("CompositeScorer")?;
        let composite = Self::trusted(entries);
        detect_cycles(&composite)?;
        Ok(composite)
    }

    /// A composite of entries that are known to be valid.
    pub(crate) fn trusted(entries: Vec<(Arc<dyn Scorer>, f64)>) -> Self {
        let total: f64 = entries.iter().map(|(_, weight)| weight).sum();
        let child = |(scorer, weight)| CompositePart { scorer, weight, share: weight / total };
        Self { children: entries.into_iter().map(child).collect() }
    }

    /// Starts a composite.
    pub fn builder() -> CompositeScorerBuilder {
        CompositeScorerBuilder::default()
    }

    /// The children with the weights they were given, in order.
    pub fn children(&self) -> impl Iterator<Item = (&Arc<dyn Scorer>, f64)> {
        self.children.iter().map(|child| (&child.scorer, child.weight))
    }
}

impl Scorer for CompositeScorer {
    fn score(&self, item: &ContextItem, all: &[ContextItem]) -> f64 {
        self.children
            .iter()
            .fold(0.0, |sum, child| sum + child.scorer.score(item, all) * child.share)
    }

    fn score_all(&self, items: &[ContextItem], scores: &mut [f64]) {
        scores.fill(0.0);
        let mut own = vec![0.0; items.len()];
        for child in &self.children {
            child.scorer.score_all(items, &mut own);
            for (sum, score) in scores.iter_mut().zip(&own) {
                *sum += score * child.share;
            }
        }
    }

    fn explain_all(&self, items: &[ContextItem]) -> Vec<ScoreParts> {
        let mut wholes = vec![ScoreParts::new(self.name(), 0.0); items.len()];
        for child in &self.children {
            for (whole, part) in wholes.iter_mut().zip(child.scorer.explain_all(items)) {
                whole.score += part.score * child.share;
                whole.parts.push(part.share(child.share));
            }
        }
        wholes
    }

    fn facts(&self) -> ScorerFacts {
        let children = || self.children.iter().map(|child| child.scorer.facts());
        ScorerFacts {
            absolute: children().all(|facts| facts.absolute),
            depends_on_time: children().any(|facts| facts.depends_on_time),
        }
    }

    fn freeze(&self) -> Option<Arc<dyn Scorer>> {
        if !self.facts().depends_on_time {
            return None;
        }
        let freeze = |child: &CompositePart| CompositePart {
            scorer: child.scorer.freeze().unwrap_or_else(|| Arc::clone(&child.scorer)),
            ..*child
        };
        Some(Arc::new(Self { children: self.children.iter().map(freeze).collect() }))
    }

    fn steps(&self, items: &[ContextItem]) -> u64 {
        let steps = self.children.iter().map(|child| child.scorer.steps(items));
        steps.fold(0, u64::saturating_add)
    }

    fn visit_children(&self, visit: &mut dyn FnMut(&dyn Scorer)) {
        for child in &self.children {
            visit(&*child.scorer);
        }
    }

    crate::names::as_any!();
}

/// Builds a [`CompositeScorer`].
#[derive(Debug, Clone, Default)]
#[must_use = "a scorer exists only after build()"]
pub struct CompositeScorerBuilder {
    entries: Vec<(Arc<dyn Scorer>, f64)>,
}

impl CompositeScorerBuilder {
    /// Adds a scorer with its relative weight.
    #[allow(clippy::should_implement_trait)] // "add a scorer", not arithmetic
    pub fn add(mut self, scorer: impl Scorer + 'static, weight: f64) -> Self {
        self.entries.push((Arc::new(scorer), weight));
        self
    }

    /// Finishes the composite.
    ///
    /// # Errors
    ///
    /// As [`CompositeScorer::new`].
    pub fn build(self) -> Result<CompositeScorer, CupelError> {
        CompositeScorer::new(self.entries)
    }
}

/// Min-max normalisation of an inner scorer over all candidates.
///
/// The lowest inner score becomes 0.0, the highest 1.0; when they are all equal, all become 0.5.
/// A pass over all candidates asks the inner scorer once, however deep the nesting.
///
/// ```
/// use cupel::{ContextItem, ReflexiveScorer, Scorer};
/// use cupel::scorer::ScaledScorer;
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
