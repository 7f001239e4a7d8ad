//! Scorers that look at one field of one item: the relevance hint, the kind, the tags or the metadata.

use std::cmp::Ordering;

use super::{Scorer, ScorerFacts};
use crate::config::{Path, Problems};
use crate::error::CupelError;
use crate::model::{ContextItem, ContextKind, KindMap};
use crate::names;

/// The item's `futureRelevanceHint`, clamped to `[0.0, 1.0]`; 0.0 when absent or not finite.
///
/// ```
/// use cupel::{ContextItem, ReflexiveScorer, Scorer};
///
/// let item = ContextItem::builder("top hit", 3).future_relevance_hint(1.7).build()?;
/// assert_eq!(ReflexiveScorer.score(&item, &[]), 1.0);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReflexiveScorer;

impl Scorer for ReflexiveScorer {
    fn score(&self, item: &ContextItem, _all: &[ContextItem]) -> f64 {
        match item.future_relevance_hint() {
            Some(hint) if hint.is_finite() => hint.clamp(0.0, 1.0),
            _ => 0.0,
        }
    }

    fn note(&self, item: &ContextItem) -> Option<String> {
        let hint = item.future_relevance_hint();
        Some(hint.map_or("no hint".into(), |hint| format!("hint {hint}")))
    }

    fn facts(&self) -> ScorerFacts {
        ScorerFacts::ABSOLUTE
    }

    names::as_any!();
}

/// Looks the item's kind up in a table of weights; a kind without a weight scores 0.0.
///
/// The default table is SystemPrompt 1.0, Memory 0.8, ToolOutput 0.6, Document 0.4, Message 0.2.
/// Weights are returned as they are, without clamping.
///
/// ```
/// use cupel::{ContextItem, ContextKind, Scorer};
/// use cupel::scorer::KindScorer;
///
/// let doc = ContextItem::builder("spec", 9).kind(ContextKind::new("DOCUMENT")?).build()?;
/// assert_eq!(KindScorer::default().score(&doc, &[]), 0.4);
///
/// let custom = KindScorer::new([(ContextKind::document(), 2.5)])?;
/// assert_eq!(custom.score(&doc, &[]), 2.5);
/// assert!(KindScorer::new([(ContextKind::document(), -0.1)]).is_err());
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KindScorer {
    weights: KindMap<f64>,
}

impl KindScorer {
    /// Creates a scorer from a table of weights; an empty table scores everything 0.0.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerConfig`] when a weight is negative or not finite, or a kind has two.
    pub fn new(weights: impl IntoIterator<Item = (ContextKind, f64)>) -> Result<Self, CupelError> {
        let path = Path::Root.key("weights");
        let mut problems = Problems::default();
        let mut table = KindMap::default();
        for (kind, weight) in weights {
            let path = path.key(kind.as_str());
            problems.not_negative(&path, weight);
            if !table.insert(&kind, weight) {
                problems.add(&path, "has two weights, expected one (kinds ignore case)");
            }
        }
        problems.scorer("KindScorer")?;
        Ok(Self { weights: table })
    }

    /// A scorer from a table that is known to be valid.
    pub(crate) fn trusted(table: impl IntoIterator<Item = (ContextKind, f64)>) -> Self {
        let mut weights = KindMap::default();
        for (kind, weight) in table {
            weights.get_or_insert(&kind, weight);
        }
        Self { weights }
    }

    /// The table, in the order it was given.
    pub fn weights(&self) -> &[(ContextKind, f64)] {
        self.weights.entries()
    }
}

impl Default for KindScorer {
    fn default() -> Self {
        Self::trusted([
            (ContextKind::system_prompt(), 1.0),
            (ContextKind::memory(), 0.8),
            (ContextKind::tool_output(), 0.6),
            (ContextKind::document(), 0.4),
            (ContextKind::message(), 0.2),
        ])
    }
}

impl Scorer for KindScorer {
    fn score(&self, item: &ContextItem, _all: &[ContextItem]) -> f64 {
        self.weights.get(item.kind()).copied().unwrap_or(0.0)
    }

    fn note(&self, item: &ContextItem) -> Option<String> {
        Some(item.kind().to_string())
    }

    fn facts(&self) -> ScorerFacts {
        ScorerFacts::ABSOLUTE
    }

    names::as_any!();
}

/// The weight of the item's matching tags over the weight of all configured tags, at most 1.0.
///
/// Tags match exactly unless the scorer is built with [`TagScorer::case_insensitive`].
///
/// ```
/// use cupel::{ContextItem, Scorer};
/// use cupel::scorer::TagScorer;
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

    fn note(&self, item: &ContextItem) -> Option<String> {
        let matching = item.tags().iter().filter(|tag| self.weight_of(tag) > 0.0);
        let matching = matching.map(String::as_str).collect::<Vec<_>>().join(", ");
        Some(if matching.is_empty() { "no such tag".into() } else { matching })
    }

    fn facts(&self) -> ScorerFacts {
        ScorerFacts::ABSOLUTE
    }

    names::as_any!();
}

/// `boost` for items whose metadata holds exactly `value` under `key`, 1.0 for all others.
///
/// ```
/// use cupel::{ContextItem, Scorer};
/// use cupel::scorer::MetadataKeyScorer;
///
/// let scorer = MetadataKeyScorer::new("cupel:priority", "high", 1.5)?;
/// let urgent = ContextItem::builder("pager", 1).metadata_entry("cupel:priority", "high").build()?;
/// assert_eq!(scorer.score(&urgent, &[]), 1.5);
/// assert_eq!(scorer.score(&ContextItem::new("note", 1)?, &[]), 1.0);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataKeyScorer {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) boost: f64,
}

impl MetadataKeyScorer {
    /// Creates a scorer that boosts items with `value` under `key`.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerConfig`] when `boost` is not a finite number above zero.
    pub fn new(
        key: impl Into<String>,
        value: impl Into<String>,
        boost: f64,
    ) -> Result<Self, CupelError> {
        let mut problems = Problems::default();
        problems.positive(&Path::Root.key("boost"), boost);
        problems.scorer("MetadataKeyScorer")?;
        Ok(Self { key: key.into(), value: value.into(), boost })
    }
}

impl Scorer for MetadataKeyScorer {
    fn score(&self, item: &ContextItem, _all: &[ContextItem]) -> f64 {
        if item.metadata().get(&self.key) == Some(&self.value) { self.boost } else { 1.0 }
    }

    fn note(&self, item: &ContextItem) -> Option<String> {
        let has = item.metadata().get(&self.key) == Some(&self.value);
        has.then(|| format!("{} is {}", self.key, self.value))
    }

    fn facts(&self) -> ScorerFacts {
        ScorerFacts::ABSOLUTE
    }

    names::as_any!();
}

/// The number under the metadata key `cupel:trust`, clamped to `[0.0, 1.0]`.
///
/// A missing, unreadable or non-finite value scores the configured default instead.
///
/// ```
/// use cupel::{ContextItem, Scorer};
/// use cupel::scorer::MetadataTrustScorer;
///
/// let scorer = MetadataTrustScorer::new(0.5)?;
/// let vetted = ContextItem::builder("runbook", 4).metadata_entry("cupel:trust", "0.85").build()?;
/// let vague = ContextItem::builder("forum", 4).metadata_entry("cupel:trust", "high").build()?;
/// assert_eq!((scorer.score(&vetted, &[]), scorer.score(&vague, &[])), (0.85, 0.5));
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetadataTrustScorer {
    pub(crate) default_score: f64,
}

impl MetadataTrustScorer {
    /// The metadata key this scorer reads.
    pub const KEY: &'static str = "cupel:trust";

    /// Creates a scorer that answers `default_score` where there is no usable trust value.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerConfig`] when `default_score` is outside `[0.0, 1.0]`.
    pub fn new(default_score: f64) -> Result<Self, CupelError> {
        let mut problems = Problems::default();
        problems.score(&Path::Root.key("default_score"), default_score);
        problems.scorer("MetadataTrustScorer")?;
        Ok(Self { default_score })
    }
}

impl Scorer for MetadataTrustScorer {
    fn score(&self, item: &ContextItem, _all: &[ContextItem]) -> f64 {
        match item.metadata().get(Self::KEY).map(|raw| raw.parse::<f64>()) {
            Some(Ok(trust)) if trust.is_finite() => trust.clamp(0.0, 1.0),
            _ => self.default_score,
        }
    }

    fn note(&self, item: &ContextItem) -> Option<String> {
        let raw = item.metadata().get(Self::KEY);
        Some(raw.map_or("no trust given".into(), |raw| format!("trust {raw}")))
    }

    fn facts(&self) -> ScorerFacts {
        ScorerFacts::ABSOLUTE
    }

    names::as_any!();
}
