//! Sums of a run of kept items: what it leaves for those behind it.

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
