//! Rule for streams with duplicates: better copies may replace what is there.

use super::item::{Key, StreamItem};
use super::kept::{Entry, Kept};

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
    cutoffs: Vec<Key>,
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
    pub(super) fn is_dead(&self, key: &Key, tokens: u64) -> bool {
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
    pub(super) fn sweep<P>(&mut self, kept: &mut Kept<P>, budget: u64) -> Vec<StreamItem<P>> {
        let mut filling = Filling::new(kept, budget);
        let dropped = kept.retain(|entry| filling.take(entry.tokens(), || entry.key()));
        (self.sizes, self.cutoffs) = (filling.sizes, filling.cutoffs);
        self.due = kept.len() + (kept.len() / 4).max(Self::SLACK);
        dropped
    }
}

/// One pass in greedy order: how many tokens there are of each size or smaller.
struct Filling {
    budget: u64,
    sizes: Vec<u64>,
    cutoffs: Vec<Key>,
    /// A Fenwick tree over `sizes`.
    sums: Vec<u64>,
    /// Number of sizes, from the smallest up, that still have room. A larger size counts at least what
    /// a smaller one counts, so room runs out from the largest down.
    open: usize,
}

impl Filling {
    fn new<P>(kept: &Kept<P>, budget: u64) -> Self {
        let mut sizes: Vec<u64> = kept.iter().map(Entry::tokens).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let open = sizes.len();
        let cutoffs = vec![Key::LAST; open];
        let mut filling = Self { budget, cutoffs, sums: vec![0; open], open, sizes };
        filling.close_full(|| Key::FIRST);
        filling
    }

    /// Counts an item if it is not dead.
    fn take(&mut self, tokens: u64, key: impl Fn() -> Key) -> bool {
        let size = self.sizes.partition_point(|size| *size < tokens);
        let live = size < self.open;
        // Room for nothing is there for ever, and takes none.
        if live && tokens > 0 {
            self.add(size, tokens);
            self.close_full(key);
        }
        live
    }

    fn close_full(&mut self, key: impl Fn() -> Key) {
        while let Some(largest) = self.open.checked_sub(1) {
            let size = self.sizes.get(largest).copied().unwrap_or(0);
            if self.sum(largest).saturating_add(size) <= self.budget {
                break;
            }
            if let Some(cutoff) = self.cutoffs.get_mut(largest) {
                *cutoff = key();
            }
            self.open = largest;
        }
    }

    fn add(&mut self, size: usize, tokens: u64) {
        let mut node = size;
        while let Some(sum) = self.sums.get_mut(node) {
            // A sum that an open size reads is far from the limit; others may stay there.
            *sum = sum.saturating_add(tokens);
            node |= node + 1;
        }
    }

    /// The tokens of everything counted up to a size.
    fn sum(&self, size: usize) -> u64 {
        let (mut total, mut end) = (0_u64, size + 1);
        while let Some(sum) = end.checked_sub(1).and_then(|node| self.sums.get(node)) {
            total = total.saturating_add(*sum);
            end &= end - 1;
        }
        total
    }
}
