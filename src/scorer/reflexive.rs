//! Passes the caller's own relevance signal through.

use super::{ScoreParts, Scorer, ScorerFacts, leaves};
use crate::model::ContextItem;

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

    fn explain_all(&self, items: &[ContextItem]) -> Vec<ScoreParts> {
        leaves(self, items, |item| {
            Some(
                item.future_relevance_hint()
                    .map_or("no hint".into(), |hint| format!("hint {hint}")),
            )
        })
    }

    fn facts(&self) -> ScorerFacts {
        ScorerFacts::ABSOLUTE
    }

    crate::names::as_any!();
}
