//! Rules that drop the items which can never be selected: one for streams without duplicates, and one for
//! streams in which a better copy may replace an item.

use super::item::{StreamItem, StreamKey, StreamPush};
use super::kept::{KeptItems, LiveEntry};
use crate::slicer::prefix_sums::PrefixSums;

/// Drops an item as soon as nothing that arrives could make it fit.
#[derive(Debug, Clone)]
pub(super) struct ReachRule {
    /// Density key of the last live item: most arrivals of a long stream come behind it.
    last: u64,
    /// The reach behind the last live item.
    reach: u64,
}

impl ReachRule {
    pub(super) fn new(budget: u64) -> Self {
        Self { last: 0, reach: budget }
    }

    /// Keeps an item if some future could select it.
    pub(super) fn push<P>(
        &mut self,
        live: &mut KeptItems<P>,
        budget: u64,
        item: StreamItem<P>,
    ) -> StreamPush<P> {
        let tokens = item.tokens.unsigned_abs();
        if tokens > self.reach && live.order().rank(item.score, item.tokens) > self.last {
            return StreamPush::Dropped(item);
        }
        let key = live.order().key(&item);
        match live.insert_live(&key, item, budget) {
            Ok(outcome) => StreamPush::Kept { dropped: self.note(live, outcome), withdrawn: None },
            Err(item) => StreamPush::Dropped(item),
        }
    }

    /// Takes out what is no longer live with a smaller budget.
    ///
    /// Behind an item that dies, the reach was at least the item's size less one, and it dies
    /// because no more than that is left in front of it. So a reach only ever shrinks, and no
    /// item that was dropped before is missed.
    pub(super) fn update<P>(&mut self, live: &mut KeptItems<P>, budget: u64) -> Vec<StreamItem<P>> {
        let outcome = live.drop_dead(budget);
        self.note(live, outcome)
    }

    fn note<P>(
        &mut self,
        live: &KeptItems<P>,
        (dropped, reach): (Vec<StreamItem<P>>, u64),
    ) -> Vec<StreamItem<P>> {
        (self.last, self.reach) = (live.last().density, reach);
        dropped
    }
}

/// Drops an item when those before it that are no larger leave no room for it.
///
/// Let `z` have `t` tokens. If a greedy pass takes `z`, at least `t` tokens are left when it gets
/// there, and more before that; so everything before `z` that is no larger was taken as well. If
/// these and `z` together exceed the budget, `z` is never taken. A better copy of one of them has
/// the same size and stands further in front: the sum stays. Nothing else takes items away.
///
/// Nor could the rule drop more. When the sum does fit, let better copies of all the smaller ones
/// arrive, and in front of everything one item that leaves exactly the sum: whatever is larger
/// than `z` no longer fits, and `z` does.
///
/// It also does not matter whether the sum counts items that were dropped before. Of those among
/// them that are before `z` and no larger, let `d` be the first; what made `d` dead is all there
/// (it is before `d`) and, with `z` in the place of the smaller `d`, makes `z` dead, too.
///
/// Working the sums out takes a pass over all items, so it is done when a quarter more are there
/// than the pass before left. In the meantime the [`cutoffs`](Self::cutoffs) of that pass tell
/// what is dead: sums only grow, so they stay true.
#[derive(Debug, Clone)]
pub(super) struct RoomRule {
    /// The sizes there are, ascending.
    sizes: Vec<u64>,
    /// For every size, the key behind which items of at least this size are dead.
    cutoffs: Vec<StreamKey>,
    /// Number of items at which the next pass is due.
    due: usize,
}

impl RoomRule {
    /// A pass is not worth it for fewer new items.
    const SLACK: usize = 32;

    pub(super) fn new() -> Self {
        Self { sizes: Vec::new(), cutoffs: Vec::new(), due: Self::SLACK }
    }

    /// Returns `true` if the last pass showed that an item of this size and key is dead.
    pub(super) fn is_dead(&self, key: &StreamKey, tokens: u64) -> bool {
        let no_larger = self.sizes.partition_point(|size| *size <= tokens);
        let cutoff = no_larger.checked_sub(1).and_then(|size| self.cutoffs.get(size));
        cutoff.is_some_and(|cutoff| key > cutoff)
    }

    pub(super) fn is_due(&self, len: usize) -> bool {
        len >= self.due
    }

    /// Makes the next pass due at once, because sums have become smaller after all.
    pub(super) fn distrust(&mut self) {
        *self = Self { due: 0, ..Self::new() };
    }

    /// Takes out everything that is dead.
    pub(super) fn sweep<P>(&mut self, kept: &mut KeptItems<P>, budget: u64) -> Vec<StreamItem<P>> {
        let mut pass = SizeSums::new(kept, budget);
        let dropped = kept.retain(|entry| pass.take(entry.tokens(), || entry.key()));
        (self.sizes, self.cutoffs) = (pass.sizes, pass.cutoffs);
        self.due = kept.len() + (kept.len() / 4).max(Self::SLACK);
        dropped
    }
}

/// One pass in greedy order: how many tokens there are of each size or smaller.
struct SizeSums {
    budget: u64,
    sizes: Vec<u64>,
    cutoffs: Vec<StreamKey>,
    /// Tokens by position in `sizes`. A sum that an open size reads is far from the largest number.
    sums: PrefixSums,
    /// Number of sizes, from the smallest up, that still have room. A larger size counts at least what
    /// a smaller one counts, so room runs out from the largest down.
    open: usize,
}

impl SizeSums {
    fn new<P>(kept: &KeptItems<P>, budget: u64) -> Self {
        let mut sizes: Vec<u64> = kept.iter().map(LiveEntry::tokens).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let open = sizes.len();
        let cutoffs = vec![StreamKey::LAST; open];
        let mut pass = Self { budget, cutoffs, sums: PrefixSums::new(open), open, sizes };
        pass.close_full(|| StreamKey::FIRST);
        pass
    }

    /// Counts an item if it is not dead.
    fn take(&mut self, tokens: u64, key: impl Fn() -> StreamKey) -> bool {
        let size = self.sizes.partition_point(|size| *size < tokens);
        let live = size < self.open;
        // Room for nothing is there for ever, and takes none.
        if live && tokens > 0 {
            self.sums.add(size, tokens);
            self.close_full(key);
        }
        live
    }

    fn close_full(&mut self, key: impl Fn() -> StreamKey) {
        while let Some(largest) = self.open.checked_sub(1) {
            let size = self.sizes.get(largest).copied().unwrap_or(0);
            if self.sums.up_to(largest).saturating_add(size) <= self.budget {
                break;
            }
            if let Some(cutoff) = self.cutoffs.get_mut(largest) {
                *cutoff = key();
            }
            self.open = largest;
        }
    }
}
