//! Combines several scorers into a weighted average.

use std::sync::Arc;

use super::{ScoreParts, Scorer, ScorerFacts, detect_cycles};
use crate::config::{Path, Problems};
use crate::error::CupelError;
use crate::model::ContextItem;

/// The weighted average of its children, weights normalised to add up to 1.
///
/// ```
/// use cupel::{CompositeScorer, ContextItem, KindScorer, ReflexiveScorer, Scorer};
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
    children: Vec<Child>,
}

#[derive(Debug, Clone)]
struct Child {
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
        let child = |(scorer, weight)| Child { scorer, weight, share: weight / total };
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
        let freeze = |child: &Child| Child {
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
