//! Items on their way through a selection: scored, placed, or refused.

use std::sync::Arc;

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

/// A part of a request that the model's API would refuse.
///
/// The report lists it as [`Filtered`](crate::ExclusionReason::Filtered) with the reason as the
/// filter's name.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The part, as an item.
    pub item: ContextItem,
    /// Why, in a few words.
    pub why: String,
}

/// A selected item and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The item.
    pub item: ContextItem,
    /// The request or the source that it came from.
    pub origin: Origin,
}

/// Origin of an item: the request or a source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The request's own candidate with this index.
    Request(usize),
    /// A source, by name, and the item's index in what it yielded.
    Source {
        /// The source's name.
        name: Arc<str>,
        /// The item's index.
        position: usize,
    },
}
