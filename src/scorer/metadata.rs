//! Scorers that read an item's metadata.

use super::{ScoreParts, Scorer, ScorerFacts, leaves};
use crate::config::{Path, Problems};
use crate::error::CupelError;
use crate::model::ContextItem;

/// `boost` for items whose metadata holds exactly `value` under `key`, 1.0 for all others.
///
/// ```
/// use cupel::{ContextItem, MetadataKeyScorer, Scorer};
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

    fn explain_all(&self, items: &[ContextItem]) -> Vec<ScoreParts> {
        leaves(self, items, |item| {
            let has = item.metadata().get(&self.key) == Some(&self.value);
            has.then(|| format!("{} is {}", self.key, self.value))
        })
    }

    fn facts(&self) -> ScorerFacts {
        ScorerFacts::ABSOLUTE
    }

    crate::names::as_any!();
}

/// The number under the metadata key `cupel:trust`, clamped to `[0.0, 1.0]`.
///
/// A missing, unreadable or non-finite value scores the configured default instead.
///
/// ```
/// use cupel::{ContextItem, MetadataTrustScorer, Scorer};
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

    fn explain_all(&self, items: &[ContextItem]) -> Vec<ScoreParts> {
        leaves(self, items, |item| {
            let raw = item.metadata().get(Self::KEY);
            Some(raw.map_or("no trust given".into(), |raw| format!("trust {raw}")))
        })
    }

    fn facts(&self) -> ScorerFacts {
        ScorerFacts::ABSOLUTE
    }

    crate::names::as_any!();
}
