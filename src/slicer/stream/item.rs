//! Items and answers of a stream slice, and the order of its items.

use crate::model::{ScoredItem, by_score_descending, descending_key};

/// The place of an item in the list a batch would have had: its stream, then its position there.
///
/// Equal items go by it, so the outcome does not depend on which stream happened to be faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sequence {
    /// Number of the stream.
    pub stream: u32,
    /// Position within the stream.
    pub position: u64,
}

impl Sequence {
    /// The item at `position` of stream number `stream`.
    pub fn new(stream: u32, position: u64) -> Self {
        Self { stream, position }
    }
}

/// An item on its way through a [`StreamSlice`](crate::slicer::StreamSlice), with whatever the caller
/// attaches to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamItem<P> {
    /// The relevance score; NaN orders after every number.
    pub score: f64,
    /// The size; items with a negative one are refused.
    pub tokens: i64,
    /// The place among all items, for ties.
    pub sequence: Sequence,
    /// Data of the caller, handed back with the item.
    pub payload: P,
}

impl<P> StreamItem<P> {
    /// Attaches a payload to a score, a size and a place.
    pub fn new(score: f64, tokens: i64, sequence: Sequence, payload: P) -> Self {
        Self { score, tokens, sequence, payload }
    }
}

/// Outcome of a pushed item.
///
/// Every payload that the slice does not keep comes back here, so nothing is lost unnoticed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[must_use = "it holds the items that are out for good"]
pub enum StreamPush<P> {
    /// The item is selected, or may still be, depending on what else arrives.
    Kept {
        /// Items that can no longer be selected, whatever still arrives.
        dropped: Vec<StreamItem<P>>,
        /// The copy with the same content that this one replaces; only when deduplicating.
        withdrawn: Option<StreamItem<P>>,
    },
    /// The item can never be selected, whatever still arrives.
    Dropped(StreamItem<P>),
    /// A kept item has the same content and scores at least as high; only when deduplicating.
    Duplicate(StreamItem<P>),
    /// The item has negative tokens.
    Refused(StreamItem<P>),
}

impl<P> StreamPush<P> {
    /// Returns `true` if the item was kept.
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Kept { .. })
    }
}

/// Result of a [`StreamSlice`](crate::slicer::StreamSlice) when nothing more arrives.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamSelection<P> {
    /// The selection of a batch, in its order.
    pub selected: Vec<StreamItem<P>>,
    /// Items that were kept to the end, but did not fit, in the same order.
    pub passed_over: Vec<StreamItem<P>>,
}

/// Order in which items are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum StreamOrder {
    /// By score per token, as [`GreedySlice`](crate::GreedySlice) takes them.
    #[default]
    Density,
    /// By score, as [`BestFirstSlice`](crate::slicer::BestFirstSlice) takes them.
    Score,
}

impl StreamOrder {
    /// The number that items go by, the highest first.
    fn value(self, score: f64, tokens: i64) -> f64 {
        match self {
            Self::Density => density(score, tokens),
            Self::Score => score,
        }
    }

    /// The values of a batch, item by item.
    pub(in crate::slicer) fn values(
        self,
        items: &[ScoredItem<'_>],
    ) -> impl ExactSizeIterator<Item = f64> {
        items.iter().map(move |scored| self.value(scored.score(), scored.tokens()))
    }

    /// Positions in this order; equal items stay in their given order.
    pub(crate) fn positions(self, items: &[ScoredItem<'_>]) -> Vec<u32> {
        by_score_descending(self.values(items))
    }

    /// The value as a key: the higher the value, the smaller the key.
    pub(super) fn rank(self, score: f64, tokens: i64) -> u64 {
        descending_key(self.value(score, tokens))
    }

    pub(super) fn key<P>(self, item: &StreamItem<P>) -> StreamKey {
        StreamKey {
            density: self.rank(item.score, item.tokens),
            score: descending_key(item.score),
            sequence: item.sequence,
        }
    }
}

/// Position of an item in greedy order; the smallest key is taken first.
///
/// A batch sorts by score and then, keeping that order among equals, by density.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StreamKey {
    /// Or the score once more, where items go by it alone.
    pub(super) density: u64,
    pub(super) score: u64,
    pub(super) sequence: Sequence,
}

impl StreamKey {
    /// Before every item there can be.
    pub(super) const FIRST: Self = Self::before_density(0);

    /// After every item there can be; also a NaN with the last sequence is not after it.
    pub(super) const LAST: Self = Self {
        density: u64::MAX,
        score: u64::MAX,
        sequence: Sequence { stream: u32::MAX, position: u64::MAX },
    };

    /// Before every item of this density.
    pub(super) const fn before_density(density: u64) -> Self {
        Self { density, score: 0, sequence: Sequence { stream: 0, position: 0 } }
    }
}

/// Score per token; the largest finite number for items without tokens.
fn density(score: f64, tokens: i64) -> f64 {
    if tokens == 0 { f64::MAX } else { score / tokens as f64 }
}

/// The density a batch sorts by, as a key that ascends where the density descends.
pub(super) fn density_key(score: f64, tokens: i64) -> u64 {
    descending_key(density(score, tokens))
}
