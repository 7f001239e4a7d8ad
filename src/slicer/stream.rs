//! Selects exactly what a batch would, while the items still arrive.
//!
//! [`GreedySlice`](crate::GreedySlice) sorts all items by score per token and takes what fits in
//! one pass. To select while items arrive, it is not enough to keep the current selection: an
//! item that does not fit now may fit again after a denser one has pushed something else out.
//! [`StreamSlice`] keeps those that may, and no others.
//!
//! # The rule
//!
//! Walk the kept items in greedy order and carry along the *reach*: the largest capacity that
//! some future could leave at this point. It starts as the budget. An item of `t` tokens is
//! *live* if `t` is within the reach; behind it, the reach is the larger of `t - 1` and
//! `reach - t`. An item that is not live can never be taken, whatever still arrives, and is
//! dropped for good.
//!
//! Why: items that arrive in front can leave any capacity from 0 up to the reach. An item of `t`
//! tokens turns a capacity of at least `t` into one that is `t` smaller, and leaves a capacity
//! below `t` alone. So the possible ones behind it are 0 up to `reach - t` and 0 up to `t - 1`:
//! again all from 0 up to something. And the item is taken in some future exactly if `t` is among
//! the capacities in front of it. The same holds for every smaller budget, so
//! [`shrink_budget`](StreamSlice::shrink_budget) and [`reserve`](StreamSlice::reserve) are exact,
//! too.
//!
//! # By hand
//!
//! A budget of 10 tokens. Items *a* (6 tokens, density 0.5), *b* (5 tokens, 0.4) and *c*
//! (4 tokens, 0.3) are there:
//!
//! | item | tokens | reach before | live | reach behind    | left before | selected |
//! | ---- | ------ | ------------ | ---- | --------------- | ----------- | -------- |
//! | a    | 6      | 10           | yes  | max(5, 4) = 5   | 10          | yes      |
//! | b    | 5      | 5            | yes  | max(4, 0) = 4   | 4           | no       |
//! | c    | 4      | 4            | yes  | max(3, 0) = 3   | 4           | yes      |
//!
//! Now *d* (4 tokens, 0.2) arrives: behind *c* the reach is 3, so *d* is dropped. Then *e*
//! (5 tokens, 0.9) arrives and goes in front:
//!
//! | item | tokens | reach before | live | reach behind    | left before | selected |
//! | ---- | ------ | ------------ | ---- | --------------- | ----------- | -------- |
//! | e    | 5      | 10           | yes  | max(4, 5) = 5   | 10          | yes      |
//! | a    | 6      | 5            | no   | 5               | 5           | no       |
//! | b    | 5      | 5            | yes  | max(4, 0) = 4   | 5           | yes      |
//! | c    | 4      | 4            | yes  | max(3, 0) = 3   | 0           | no       |
//!
//! *a* is out for good, and *b*, which was not selected before, is selected now. Keeping only the
//! selection *a*, *c* would now give *e*, *c* and one token to spare.
//!
//! ```
//! use cupel::slicer::{Sequence, StreamItem, StreamPush, StreamSlice};
//!
//! let mut slice = StreamSlice::new(10);
//! let mut position = 0;
//! let mut item = |name, tokens: i64, density: f64| {
//!     position += 1;
//!     StreamItem::new(density * tokens as f64, tokens, Sequence::new(0, position), name)
//! };
//! let names = |slice: &StreamSlice<&'static str>| {
//!     slice.selection().map(|item| item.payload).collect::<Vec<_>>()
//! };
//!
//! assert!(slice.push(item("a", 6, 0.5)).is_kept());
//! assert!(slice.push(item("b", 5, 0.4)).is_kept());
//! assert!(slice.push(item("c", 4, 0.3)).is_kept());
//! assert_eq!(names(&slice), ["a", "c"]);
//!
//! assert!(matches!(slice.push(item("d", 4, 0.2)), StreamPush::Dropped(_)));
//!
//! let StreamPush::Kept { dropped, .. } = slice.push(item("e", 5, 0.9)) else { unreachable!() };
//! assert_eq!(dropped[0].payload, "a");
//! assert_eq!(names(&slice), ["e", "b"]);
//! assert_eq!(slice.live().map(|item| item.payload).collect::<Vec<_>>(), ["e", "b", "c"]);
//! ```
//!
//! # Duplicates
//!
//! A later copy of an item may score higher and take its place. The earlier one is then taken back,
//! and something behind it may fit again that the rule above has dropped.
//! [`StreamSlice::deduplicating`] therefore keeps more: an item goes only when those before it
//! that are no larger exceed the budget together with it.
//!
//! # Stopping early
//!
//! With what open streams promise about the rest ([`StreamBounds`]),
//! [`StreamSlice::is_settled`] tells when nothing that can still come would change the selection.

mod bounds;
mod dedup;
mod item;
mod kept;
mod rules;

use std::fmt;

use crate::error::{ConfigError, CupelError};

pub use bounds::StreamBounds;
use dedup::Deduplication;
pub use dedup::StreamContent;
pub use item::{Sequence, StreamItem, StreamOrder, StreamPush, StreamSelection};
use kept::KeptItems;
use rules::ReachRule;

/// Selects what [`GreedySlice`](crate::GreedySlice) would, or
/// [`BestFirstSlice`](crate::slicer::BestFirstSlice), from items that arrive one by one.
///
/// At any moment [`selection`](Self::selection) is what a batch selects from everything that has
/// arrived, in the same order, however the streams interleave. Memory is for the items that can
/// still be selected, not for the stream; everything else is handed back at once. The rule, and
/// an example to follow by hand, are in the [module's documentation](crate::slicer::stream).
///
/// An item that cannot be selected mostly costs two comparisons. The cost of one that is kept
/// grows with the logarithm of how many are.
#[derive(Clone)]
#[must_use]
pub struct StreamSlice<P> {
    budget: i64,
    kept: KeptItems<P>,
    rule: Rule<P>,
}

#[derive(Clone)]
enum Rule<P> {
    Plain(ReachRule),
    Deduplicating(Deduplication<P>),
}

impl<P> StreamSlice<P> {
    /// A slice for a budget of so many tokens, which takes every item as a new one.
    ///
    /// As in a batch, nothing is selected for a budget of 0 or less.
    pub fn new(budget: i64) -> Self {
        Self::with_rule(budget, Rule::Plain(ReachRule::new(budget.max(0).unsigned_abs())))
    }

    fn with_rule(budget: i64, rule: Rule<P>) -> Self {
        Self { budget: budget.max(0), kept: KeptItems::new(StreamOrder::default()), rule }
    }

    /// Sets which items come first: those with most score per token unless set. What has arrived
    /// before is put in the new order, so set it before anything arrives.
    ///
    /// ```
    /// use cupel::slicer::{Sequence, StreamItem, StreamOrder, StreamSlice};
    ///
    /// let mut slice = StreamSlice::new(100).order(StreamOrder::Score);
    /// assert!(slice.push(StreamItem::new(0.5, 20, Sequence::new(0, 0), "dense")).is_kept());
    /// assert!(slice.push(StreamItem::new(0.9, 90, Sequence::new(0, 1), "best")).is_kept());
    /// assert_eq!(slice.selection().map(|item| item.payload).collect::<Vec<_>>(), ["best"]);
    /// ```
    pub fn order(mut self, order: StreamOrder) -> Self {
        let arrived = self.clear();
        self.kept = KeptItems::new(order);
        for item in arrived {
            // The order is set before items arrive, so nothing is lost that could have been selected.
            let _ = self.push(item);
        }
        self
    }

    /// A slice that keeps one of several items with equal content, as a pipeline does: the one
    /// that scores highest, and of equal ones the one with the earliest sequence.
    ///
    /// The order of arrival does not matter. The selection is that of a batch as long as items of equal
    /// content have equal tokens.
    ///
    /// ```
    /// use cupel::slicer::{Sequence, StreamItem, StreamPush, StreamSlice};
    /// use cupel::ContextItem;
    ///
    /// let copy = |score, stream| -> Result<_, cupel::CupelError> {
    ///     let payload = ContextItem::new("refunds take five days", 5)?;
    ///     Ok(StreamItem::new(score, 5, Sequence::new(stream, 0), payload))
    /// };
    /// let mut slice = StreamSlice::deduplicating(100);
    /// assert!(slice.push(copy(0.4, 0)?).is_kept());
    /// assert!(matches!(slice.push(copy(0.3, 1)?), StreamPush::Duplicate(_)));
    /// let StreamPush::Kept { withdrawn, .. } = slice.push(copy(0.8, 2)?) else { unreachable!() };
    /// assert_eq!(withdrawn.map(|item| item.score), Some(0.4));
    /// assert_eq!(slice.selection().map(|item| item.score).collect::<Vec<_>>(), [0.8]);
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    pub fn deduplicating(budget: i64) -> Self
    where
        P: StreamContent,
    {
        Self::with_rule(budget, Rule::Deduplicating(Deduplication::new(false)))
    }

    /// As [`deduplicating`](Self::deduplicating), for items whose copies may differ in tokens.
    ///
    /// The selection is still that of a batch. A better copy of another size can make room
    /// for any item again, so every item is kept, and memory is for all of them.
    pub fn deduplicating_any_size(budget: i64) -> Self
    where
        P: StreamContent,
    {
        Self::with_rule(budget, Rule::Deduplicating(Deduplication::new(true)))
    }

    /// Takes an item in, and hands back what is out for good.
    pub fn push(&mut self, item: StreamItem<P>) -> StreamPush<P> {
        if item.tokens < 0 {
            return StreamPush::Refused(item);
        }
        if self.budget == 0 {
            return StreamPush::Dropped(item);
        }
        let budget = self.budget.unsigned_abs();
        match &mut self.rule {
            Rule::Plain(rule) => rule.push(&mut self.kept, budget, item),
            Rule::Deduplicating(rule) => rule.push(&mut self.kept, budget, item),
        }
    }

    /// Items that are selected so far, in the order of a batch.
    pub fn selection(&self) -> impl Iterator<Item = &StreamItem<P>> {
        let mut fits = fits_in_turn(self.budget);
        self.live().filter(move |item| fits(item))
    }

    /// Everything that is kept, selected or not, in order.
    pub fn live(&self) -> impl Iterator<Item = &StreamItem<P>> {
        self.kept.iter().map(|entry| &entry.item)
    }

    /// Number of items that are kept.
    pub fn live_len(&self) -> usize {
        self.kept.len()
    }

    /// The budget in tokens.
    pub fn budget(&self) -> i64 {
        self.budget
    }

    /// Takes tokens off the budget, as a pinned item that arrives late does, and hands back what
    /// is out for good. Everything that arrived before is reconsidered, so the selection is that
    /// of a batch which knew the smaller budget from the start.
    pub fn reserve(&mut self, tokens: i64) -> Vec<StreamItem<P>> {
        self.set_smaller(self.budget.saturating_sub(tokens.max(0)).max(0))
    }

    /// Lowers the budget to so many tokens, as [`reserve`](Self::reserve) does.
    ///
    /// # Errors
    ///
    /// [`CupelError::SlicerConfig`] when `budget` is above the present one: items are gone that
    /// would have fitted.
    pub fn shrink_budget(&mut self, budget: i64) -> Result<Vec<StreamItem<P>>, CupelError> {
        if budget > self.budget {
            let message = format!("can only shrink, must be at most {}, got {budget}", self.budget);
            let error = ConfigError::new("StreamSlice", "budget", message);
            return Err(CupelError::SlicerConfig(error));
        }
        Ok(self.set_smaller(budget.max(0)))
    }

    fn set_smaller(&mut self, budget: i64) -> Vec<StreamItem<P>> {
        if budget == self.budget {
            return Vec::new();
        }
        self.budget = budget;
        if budget == 0 {
            return self.clear();
        }
        let budget = budget.unsigned_abs();
        match &mut self.rule {
            Rule::Plain(rule) => rule.update(&mut self.kept, budget),
            Rule::Deduplicating(rule) => rule.sweep(&mut self.kept, budget),
        }
    }

    fn clear(&mut self) -> Vec<StreamItem<P>> {
        let order = self.kept.order();
        let all = std::mem::replace(&mut self.kept, KeptItems::new(order)).into_items();
        if let Rule::Deduplicating(rule) = &mut self.rule {
            rule.forget(order, &all);
        }
        all
    }

    /// Hands back what is out for good but still kept.
    ///
    /// Without deduplication there is nothing. With it, this takes a pass over all kept items, which
    /// otherwise happens when their number has grown by a quarter.
    pub fn compact(&mut self) -> Vec<StreamItem<P>> {
        match &mut self.rule {
            Rule::Plain(_) => Vec::new(),
            Rule::Deduplicating(rule) => rule.sweep(&mut self.kept, self.budget.unsigned_abs()),
        }
    }

    /// Returns `true` if nothing that the open streams can still yield would change the selection.
    ///
    /// If this is `true` the open streams may be abandoned. It is never `true` while one may
    /// yield a pinned item or one without tokens. It is `false` only if an item within the
    /// promises exists that would be selected; except that a stream which promises a descending
    /// density is taken to be able to overtake all items of exactly the density it has reached.
    pub fn is_settled<'b>(&self, open: impl IntoIterator<Item = &'b StreamBounds>) -> bool {
        // What one stream yields leaves the selection alone, and with it the room that another
        // finds: each may be looked at by itself.
        open.into_iter().all(|stream| self.is_settled_for(stream))
    }

    fn is_settled_for(&self, stream: &StreamBounds) -> bool {
        if stream.may_pin() || self.budget == 0 {
            return !stream.may_pin();
        }
        // No item that may come stands further in front, where there is most room, and none is
        // smaller. If that one does not fit, none does, and what does not fit changes nothing.
        let first = stream.first_key(self.budget, self.kept.order());
        let left = self.kept.remaining_before(&first, self.budget.unsigned_abs());
        left < stream.fewest_tokens() && !self.may_replace_selected(stream)
    }

    /// Returns `true` if the stream may yield a better copy of a selected item that takes its place and
    /// does not fit. A copy of the same size would have fitted where the item does.
    fn may_replace_selected(&self, stream: &StreamBounds) -> bool {
        match &self.rule {
            Rule::Deduplicating(rule) if rule.allows_copies_of_any_size() => {
                self.selection().any(|item| stream.may_outrank(item))
            }
            _ => false,
        }
    }

    /// Ends the stream: what is selected, and what was kept in case it would be.
    pub fn finish(self) -> StreamSelection<P> {
        let items = self.kept.into_items().into_iter();
        let (selected, passed_over) = items.partition(fits_in_turn(self.budget));
        StreamSelection { selected, passed_over }
    }
}

/// Tells of one item after another whether it fits what those before it have left.
fn fits_in_turn<P>(mut left: i64) -> impl FnMut(&StreamItem<P>) -> bool {
    move |item| {
        let fits = item.tokens <= left;
        if fits {
            left -= item.tokens;
        }
        fits
    }
}

impl<P> fmt::Debug for StreamSlice<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamSlice")
            .field("budget", &self.budget)
            .field("live", &self.live_len())
            .field("deduplicating", &matches!(self.rule, Rule::Deduplicating(_)))
            .finish_non_exhaustive()
    }
}
