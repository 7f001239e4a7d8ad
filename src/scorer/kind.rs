//! Scores by what an item is.

use super::{ScoreParts, Scorer, ScorerFacts, leaves};
use crate::config::{Path, Problems};
use crate::error::CupelError;
use crate::model::{ContextItem, ContextKind, KindMap};

/// Looks the item's kind up in a table of weights; a kind without a weight scores 0.0.
///
/// The default table is SystemPrompt 1.0, Memory 0.8, ToolOutput 0.6, Document 0.4, Message 0.2.
/// Weights are returned as they are, without clamping.
///
/// ```
/// use cupel::{ContextItem, ContextKind, KindScorer, Scorer};
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

    fn explain_all(&self, items: &[ContextItem]) -> Vec<ScoreParts> {
        leaves(self, items, |item| Some(item.kind().to_string()))
    }

    fn facts(&self) -> ScorerFacts {
        ScorerFacts::ABSOLUTE
    }

    crate::names::as_any!();
}
