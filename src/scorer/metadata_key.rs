//! Boosts items that carry a certain metadata value.

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
    key: String,
    value: String,
    boost: f64,
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

    /// The metadata key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value that is boosted.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The multiplier for matching items.
    #[must_use]
    pub fn boost(&self) -> f64 {
        self.boost
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
