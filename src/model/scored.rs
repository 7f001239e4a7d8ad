//! An item together with its score.

use super::ContextItem;

/// A borrowed item and the relevance score it was given.
///
/// Scores are conventionally in `[0.0, 1.0]`, but nothing enforces it.
///
/// ```
/// use cupel::{ContextItem, ScoredItem};
///
/// let item = ContextItem::new("hello", 2)?;
/// let scored = ScoredItem::new(&item, 0.75);
/// assert_eq!((scored.item().content(), scored.score(), scored.tokens()), ("hello", 0.75, 2));
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredItem<'a> {
    item: &'a ContextItem,
    score: f64,
    // Slicers read this for every item, in an order the item's own memory does not follow.
    tokens: i64,
}

impl<'a> ScoredItem<'a> {
    /// Pairs an item with a score.
    #[must_use]
    pub fn new(item: &'a ContextItem, score: f64) -> Self {
        Self { item, score, tokens: item.tokens() }
    }

    /// The item.
    #[must_use]
    pub fn item(&self) -> &'a ContextItem {
        self.item
    }

    /// The score.
    #[must_use]
    pub fn score(&self) -> f64 {
        self.score
    }

    /// The item's tokens.
    #[must_use]
    pub fn tokens(&self) -> i64 {
        self.tokens
    }
}
