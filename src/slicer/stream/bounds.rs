//! Promises of an open stream about the items it has not yielded yet.

use super::item::{Sequence, StreamItem, StreamKey, StreamOrder, density_key};
use crate::model::descending_key;

/// The promises of one open stream, and where it has got to.
///
/// A fresh one promises nothing, which never lets a selection settle before the stream ends.
///
/// ```
/// use cupel::slicer::{Sequence, StreamBounds, StreamItem, StreamSlice};
///
/// // A retriever that yields its best match first, in chunks of 50 tokens and more.
/// let mut bounds =
///     StreamBounds::new(0).max_score(1.0).min_tokens(50).descending_density().never_pinned();
/// let mut slice = StreamSlice::new(100);
///
/// for (position, (score, tokens)) in [(0.9, 60), (0.3, 50)].into_iter().enumerate() {
///     let item = StreamItem::new(score, tokens, Sequence::new(0, position as u64), ());
///     assert!(bounds.observe(&item), "the stream keeps its word");
///     let _ = slice.push(item);
///     // After the first, one of 50 tokens would not fit into the 40 that are left, but one as
///     // dense could still come before it. After the second, what comes is behind both.
///     assert_eq!(slice.is_settled([&bounds]), position == 1);
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct StreamBounds {
    next: Sequence,
    max_score: f64,
    min_tokens: i64,
    descending: bool,
    /// Density key of the densest item that may come.
    ceiling: u64,
    may_pin: bool,
}

impl StreamBounds {
    /// A stream that has yielded nothing yet and promises nothing.
    pub fn new(stream: u32) -> Self {
        Self::after_breach(Sequence::new(stream, 0))
    }

    /// The same promises, made by another source that has yielded nothing yet.
    pub(crate) fn of_source(self, source: u32) -> Self {
        Self { next: Sequence::new(source, 0), ..self }
    }

    /// Returns `true` if anything was promised: every promise says that no item is pinned, too.
    pub(crate) fn says_anything(&self) -> bool {
        !self.may_pin
    }

    fn after_breach(next: Sequence) -> Self {
        Self {
            next,
            max_score: f64::INFINITY,
            min_tokens: 0,
            descending: false,
            ceiling: 0,
            may_pin: true,
        }
    }

    /// Promises that no item scores higher. NaN is no promise.
    pub fn max_score(mut self, score: f64) -> Self {
        self.max_score = if score.is_nan() { f64::INFINITY } else { score };
        self
    }

    /// Promises that no item is smaller. Only a promise of at least 1 lets a selection settle.
    pub fn min_tokens(mut self, tokens: i64) -> Self {
        self.min_tokens = tokens.max(0);
        self
    }

    /// Promises that no item has more score per token than the one before it.
    pub fn descending_density(mut self) -> Self {
        self.descending = true;
        self
    }

    /// Promises that no item is pinned.
    pub fn never_pinned(mut self) -> Self {
        self.may_pin = false;
        self
    }

    /// Takes note of an item the stream has yielded; `false` when it breaks a promise.
    ///
    /// A stream that has broken one promise is not believed any more: all of them are void.
    /// Items with negative tokens cannot be selected and break none.
    pub fn observe<P>(&mut self, item: &StreamItem<P>) -> bool {
        self.advance(item.sequence);
        if item.tokens < 0 {
            return true;
        }
        let density = density_key(item.score, item.tokens);
        let score = descending_key(item.score);
        let kept = item.tokens >= self.min_tokens
            && score >= descending_key(self.max_score)
            && density >= self.ceiling;
        if !kept {
            *self = Self::after_breach(self.next);
            return false;
        }
        if self.descending {
            self.ceiling = density;
        }
        true
    }

    /// Takes note of a pinned item the stream has yielded; `false` when it promised none.
    pub fn observe_pinned(&mut self, sequence: Sequence) -> bool {
        self.advance(sequence);
        let kept = self.may_pin;
        if !kept {
            *self = Self::after_breach(self.next);
        }
        kept
    }

    fn advance(&mut self, sequence: Sequence) {
        let position = sequence.position.saturating_add(1);
        self.next = Sequence { position, ..sequence };
    }

    pub(super) fn may_pin(&self) -> bool {
        self.may_pin
    }

    /// Returns `true` if an item may come that a batch would keep instead of this copy of it.
    pub(super) fn may_outrank<P>(&self, item: &StreamItem<P>) -> bool {
        let best = (descending_key(self.max_score), self.next);
        best < (descending_key(item.score), item.sequence)
    }

    /// The fewest tokens an item may have.
    pub(super) fn fewest_tokens(&self) -> u64 {
        self.min_tokens.unsigned_abs()
    }

    /// Before every item that may come and fits `budget`, which is at least 1.
    ///
    /// An item that scores the most and is the smallest comes first, and may really come; unless
    /// the density is bounded more tightly than that. Then a larger item of the same density has
    /// a higher score and comes before smaller ones, so all of that density may be overtaken.
    pub(super) fn first_key(&self, budget: i64, order: StreamOrder) -> StreamKey {
        let score = descending_key(self.max_score);
        if order == StreamOrder::Score {
            return StreamKey { density: score, score, sequence: self.next };
        }
        // A negative score weighs less on a larger item.
        let tokens = if self.max_score < 0.0 { budget } else { self.min_tokens };
        let density = density_key(self.max_score, tokens);
        if self.ceiling > density {
            return StreamKey::before_density(self.ceiling);
        }
        StreamKey { density, score, sequence: self.next }
    }
}
