//! Scores by how much of a weighted set of tags an item carries.

use std::cmp::Ordering;

use super::{ScoreParts, Scorer, ScorerFacts, leaves};
use crate::config::{Path, Problems};
use crate::error::CupelError;
use crate::model::ContextItem;
use crate::names;

/// The weight of the item's matching tags over the weight of all configured tags, at most 1.0.
///
/// Tags match exactly unless the scorer is built with [`TagScorer::case_insensitive`].
///
/// ```
/// use cupel::{ContextItem, Scorer, TagScorer};
///
/// let scorer = TagScorer::new([("billing", 3.0), ("refund", 1.0)])?;
/// let item = ContextItem::builder("invoice 17", 4).tag("billing").build()?;
/// assert_eq!(scorer.score(&item, &[]), 0.75);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TagScorer {
    /// As they were spelled, but sorted as they compare: the sum does not depend on the order
    /// they were given in.
    pub(crate) weights: Vec<(String, f64)>,
    total: f64,
    pub(crate) ignore_case: bool,
}

impl TagScorer {
    /// Creates a scorer whose tags match exactly.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerConfig`] when a weight is negative or not finite, the weights add up
    /// to infinity, or a tag has two weights.
    pub fn new<T: Into<String>>(
        weights: impl IntoIterator<Item = (T, f64)>,
    ) -> Result<Self, CupelError> {
        let weights = weights.into_iter().map(|(tag, weight)| (tag.into(), weight));
        Self::build(weights.collect(), false)
    }

    /// Creates a scorer whose tags match without regard to ASCII case.
    ///
    /// # Errors
    ///
    /// As [`TagScorer::new`]; tags that differ only in case count as the same tag.
    pub fn case_insensitive<T: Into<String>>(
        weights: impl IntoIterator<Item = (T, f64)>,
    ) -> Result<Self, CupelError> {
        let weights = weights.into_iter().map(|(tag, weight)| (tag.into(), weight));
        Self::build(weights.collect(), true)
    }

    fn build(mut weights: Vec<(String, f64)>, ignore_case: bool) -> Result<Self, CupelError> {
        weights.sort_by(|(a, _), (b, _)| compare(a, b, ignore_case));
        let path = Path::Root.key("weights");
        let mut problems = Problems::default();
        let mut before: Option<&str> = None;
        for (tag, weight) in &weights {
            let path = path.key(tag);
            problems.not_negative(&path, *weight);
            if before.is_some_and(|before| compare(before, tag, ignore_case).is_eq()) {
                let note = if ignore_case { " (ignore_case)" } else { "" };
                problems.add(&path, format!("the tag is given twice, expected once{note}"));
            }
            before = Some(tag);
        }
        let total = problems.finite_sum(&path, weights.iter().map(|(_, weight)| *weight));
        problems.scorer("TagScorer")?;
        Ok(Self { weights, total, ignore_case })
    }

    fn weight_of(&self, tag: &str) -> f64 {
        self.weights
            .binary_search_by(|(known, _)| compare(known, tag, self.ignore_case))
            .ok()
            .and_then(|position| self.weights.get(position))
            .map_or(0.0, |(_, weight)| *weight)
    }
}

fn compare(a: &str, b: &str, ignore_case: bool) -> Ordering {
    if ignore_case { names::cmp_ignoring_case(a, b) } else { a.cmp(b) }
}

impl Scorer for TagScorer {
    fn score(&self, item: &ContextItem, _all: &[ContextItem]) -> f64 {
        if self.total == 0.0 || item.tags().is_empty() {
            return 0.0;
        }
        let matched = item.tags().iter().map(|tag| self.weight_of(tag)).fold(0.0, |sum, w| sum + w);
        (matched / self.total).min(1.0)
    }

    fn explain_all(&self, items: &[ContextItem]) -> Vec<ScoreParts> {
        leaves(self, items, |item| {
            let matching = item.tags().iter().filter(|tag| self.weight_of(tag) > 0.0);
            let matching = matching.map(String::as_str).collect::<Vec<_>>().join(", ");
            Some(if matching.is_empty() { "no such tag".into() } else { matching })
        })
    }

    fn facts(&self) -> ScorerFacts {
        ScorerFacts::ABSOLUTE
    }

    crate::names::as_any!();
}
