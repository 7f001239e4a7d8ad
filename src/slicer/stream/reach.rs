//! Which items some future could still select, when nothing is ever taken back.

use super::item::{StreamItem, StreamPush};
use super::kept::Kept;

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
        live: &mut Kept<P>,
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
    pub(super) fn update<P>(&mut self, live: &mut Kept<P>, budget: u64) -> Vec<StreamItem<P>> {
        let outcome = live.drop_dead(budget);
        self.note(live, outcome)
    }

    fn note<P>(
        &mut self,
        live: &Kept<P>,
        (dropped, reach): (Vec<StreamItem<P>>, u64),
    ) -> Vec<StreamItem<P>> {
        (self.last, self.reach) = (live.last().density, reach);
        dropped
    }
}

/// A run of consecutive items in a few numbers.
///
/// One live item of `t` tokens turns a reach of `m` into `max(t - 1, m - t)`. A run of them turns
/// it into `max(floor, m - sum)`, because a maximum of a constant and a difference is again one
/// when two are chained. So two numbers tell what a run does, however long it is, and a third
/// one tells whether all of it stays live.
///
/// Sums stop at the top of 64 bits. No budget is as large, so they mean what the true sum would.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Totals {
    /// Tokens of all items.
    pub(super) sum: u64,
    /// Tokens of the smallest item.
    pub(super) smallest: u64,
    /// The reach that is left behind the run at least.
    floor: u64,
    /// The smallest reach in front of the run with which every item is live.
    pub(super) need: u64,
}

impl Totals {
    /// A run of no items.
    pub(super) const NOTHING: Self = Self { sum: 0, smallest: u64::MAX, floor: 0, need: 0 };

    /// A run of one item.
    ///
    /// A reach is never negative, so the floor of an item without tokens may as well be 0.
    #[inline(always)]
    pub(super) fn of(tokens: u64) -> Self {
        let floor = tokens.saturating_sub(1);
        Self { sum: tokens, smallest: tokens, floor, need: tokens }
    }

    /// This run with another behind it.
    #[inline(always)]
    pub(super) fn then(self, next: Self) -> Self {
        let need = if self.floor >= next.need { 0 } else { self.sum.saturating_add(next.need) };
        Self {
            sum: self.sum.saturating_add(next.sum),
            smallest: self.smallest.min(next.smallest),
            floor: self.floor.saturating_sub(next.sum).max(next.floor),
            need: self.need.max(need),
        }
    }

    /// The reach behind the run when it is `front` before it; of live items only.
    #[inline(always)]
    pub(super) fn reach(&self, front: u64) -> u64 {
        front.saturating_sub(self.sum).max(self.floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule, item by item; `None` when one of them is not live.
    fn walk(sizes: &[u64], front: u64) -> Option<u64> {
        sizes.iter().try_fold(front, |reach, &tokens| {
            (tokens <= reach).then(|| tokens.saturating_sub(1).max(reach.saturating_sub(tokens)))
        })
    }

    fn total(sizes: &[u64]) -> Totals {
        sizes.iter().fold(Totals::NOTHING, |run, &tokens| run.then(Totals::of(tokens)))
    }

    #[test]
    fn totals_do_what_a_walk_does_wherever_the_run_is_cut() {
        for code in 0..5_u64.pow(4) {
            let sizes = [code % 5, code / 5 % 5, code / 25 % 5, code / 125 % 5];
            let whole = total(&sizes);
            for cut in 0..=4 {
                let (head, tail) = sizes.split_at(cut);
                assert_eq!(total(head).then(total(tail)), whole, "{sizes:?} cut at {cut}");
            }
            for front in 0..20 {
                let walked = walk(&sizes, front);
                assert_eq!(front >= whole.need, walked.is_some(), "{sizes:?} from {front}");
                if let Some(reach) = walked {
                    assert_eq!(whole.reach(front), reach, "{sizes:?} from {front}");
                }
            }
        }
    }

    #[test]
    fn sums_beyond_64_bits_never_fit() {
        let most = i64::MAX.unsigned_abs();
        let run = total(&[most, most - 1, most - 2, most - 3]);
        assert_eq!(run.sum, u64::MAX);
        assert_eq!(walk(&[most, most - 1, most - 2, most - 3], most), Some(most - 4));
        assert!(run.need <= most);
        assert_eq!(run.reach(most), most - 4);
        assert!(total(&[most, most]).need > most);
    }
}
