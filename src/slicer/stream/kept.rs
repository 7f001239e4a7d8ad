//! The kept items in greedy order, in runs with their sums.

use std::cmp::Ordering;

use super::item::{StreamItem, StreamKey, StreamOrder};
use crate::model::descending_key;

/// A run is split beyond this many items. Adding it up again is most of the cost of an insertion,
/// and going through the runs is most of the cost of a question, so neither is long.
const MOST: usize = 64;

/// An item that is kept, with its density key.
#[derive(Clone)]
pub(super) struct LiveEntry<P> {
    density: u64,
    pub(super) item: StreamItem<P>,
}

impl<P> LiveEntry<P> {
    pub(super) fn tokens(&self) -> u64 {
        self.item.tokens.unsigned_abs()
    }

    pub(super) fn key(&self) -> StreamKey {
        let score = descending_key(self.item.score);
        StreamKey { density: self.density, score, sequence: self.item.sequence }
    }

    /// As comparing keys, but most of the time densities tell.
    fn cmp_key(&self, key: &StreamKey) -> Ordering {
        self.density.cmp(&key.density).then_with(|| self.key().cmp(key))
    }
}

/// Consecutive items, at least one outside of a change.
#[derive(Clone)]
struct SortedRun<P> {
    totals: Totals,
    /// The key of the last item.
    last: StreamKey,
    entries: Vec<LiveEntry<P>>,
}

impl<P> SortedRun<P> {
    fn new(entries: Vec<LiveEntry<P>>) -> Self {
        let mut run = Self { totals: Totals::NOTHING, last: StreamKey::FIRST, entries };
        run.refresh();
        run
    }

    /// Adds the items up again after a change.
    fn refresh(&mut self) {
        let totals = self.entries.iter().map(|entry| Totals::of(entry.tokens()));
        self.totals = totals.fold(Totals::NOTHING, Totals::then);
        self.last = self.entries.last().map_or(StreamKey::FIRST, LiveEntry::key);
    }

    /// Moves what is not wanted out; there is seldom more than one.
    fn retain(
        &mut self,
        mut keep: impl FnMut(&LiveEntry<P>) -> bool,
        dropped: &mut Vec<StreamItem<P>>,
    ) {
        let (before, mut place) = (dropped.len(), 0);
        while let Some(entry) = self.entries.get(place) {
            if keep(entry) {
                place += 1;
            } else {
                dropped.push(self.entries.remove(place).item);
            }
        }
        if dropped.len() > before {
            self.refresh();
        }
    }
}

/// Kept items by key. The totals of a run answer most questions without a look at its items.
#[derive(Clone)]
pub(super) struct KeptItems<P> {
    runs: Vec<SortedRun<P>>,
    len: usize,
    order: StreamOrder,
}

impl<P> KeptItems<P> {
    pub(super) fn new(order: StreamOrder) -> Self {
        Self { runs: Vec::new(), len: 0, order }
    }

    pub(super) fn order(&self) -> StreamOrder {
        self.order
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The key of the last item; before everything when there is none.
    pub(super) fn last(&self) -> StreamKey {
        self.runs.last().map_or(StreamKey::FIRST, |run| run.last)
    }

    /// The run where an item of this key goes, behind its equals.
    fn run_of(&self, key: &StreamKey) -> usize {
        let place = self.runs.partition_point(|run| run.last <= *key);
        place.min(self.runs.len().saturating_sub(1))
    }

    pub(super) fn insert(&mut self, key: &StreamKey, item: StreamItem<P>) {
        let entry = LiveEntry { density: key.density, item };
        self.len += 1;
        let place = self.run_of(key);
        let Some(run) = self.runs.get_mut(place) else {
            self.runs.push(SortedRun::new(vec![entry]));
            return;
        };
        let at = run.entries.partition_point(|e| e.cmp_key(key) != Ordering::Greater);
        run.entries.insert(at, entry);
        let rest =
            (run.entries.len() > MOST).then(|| SortedRun::new(run.entries.split_off(MOST / 2)));
        run.refresh();
        if let Some(rest) = rest {
            self.runs.insert(place + 1, rest);
        }
    }

    /// As [`insert`](Self::insert), if some future could select the item, if nothing is ever taken
    /// back. Hands out what is no longer live, and the reach behind everything.
    pub(super) fn insert_live(
        &mut self,
        key: &StreamKey,
        item: StreamItem<P>,
        budget: u64,
    ) -> Result<(Vec<StreamItem<P>>, u64), StreamItem<P>> {
        let place = self.run_of(key);
        let before = self.runs.iter().take(place);
        let front = before.fold(budget, |front, run| run.totals.reach(front));
        let entries = self.runs.get(place).map(|run| &*run.entries).unwrap_or_default();
        let entries = entries.iter().take_while(|e| e.cmp_key(key) != Ordering::Greater);
        let reach = entries.fold(front, |front, e| Totals::of(e.tokens()).reach(front));
        if item.tokens.unsigned_abs() > reach {
            return Err(item);
        }
        self.insert(key, item);
        Ok(self.drop_dead_from(place, front))
    }

    /// Takes out what no future could select with this budget, if nothing is ever taken back. Hands
    /// it out with the reach behind everything.
    pub(super) fn drop_dead(&mut self, budget: u64) -> (Vec<StreamItem<P>>, u64) {
        self.drop_dead_from(0, budget)
    }

    /// As [`drop_dead`](Self::drop_dead), from a run on, with the reach in front of it.
    fn drop_dead_from(&mut self, place: usize, mut front: u64) -> (Vec<StreamItem<P>>, u64) {
        let mut dropped = Vec::new();
        for run in self.runs.iter_mut().skip(place) {
            if front < run.totals.need {
                let mut reach = front;
                let live = |entry: &LiveEntry<P>| {
                    let live = entry.tokens() <= reach;
                    if live {
                        reach = Totals::of(entry.tokens()).reach(reach);
                    }
                    live
                };
                run.retain(live, &mut dropped);
            }
            front = run.totals.reach(front);
        }
        (self.forget_dropped(dropped), front)
    }

    /// The number of a key's run and the place there.
    fn find(&self, key: &StreamKey) -> Option<(usize, usize)> {
        let number = self.runs.partition_point(|run| run.last < *key);
        let entries = &self.runs.get(number)?.entries;
        Some((number, entries.binary_search_by(|entry| entry.cmp_key(key)).ok()?))
    }

    pub(super) fn get(&self, key: &StreamKey) -> Option<&StreamItem<P>> {
        let (number, place) = self.find(key)?;
        self.runs.get(number)?.entries.get(place).map(|entry| &entry.item)
    }

    pub(super) fn remove(&mut self, key: &StreamKey) -> Option<StreamItem<P>> {
        let (number, place) = self.find(key)?;
        let run = self.runs.get_mut(number)?;
        let item = run.entries.remove(place).item;
        run.refresh();
        if run.entries.is_empty() {
            self.runs.remove(number);
        }
        self.len -= 1;
        Some(item)
    }

    /// Takes out every entry that `keep` does not want; asks in order.
    pub(super) fn retain(
        &mut self,
        mut keep: impl FnMut(&LiveEntry<P>) -> bool,
    ) -> Vec<StreamItem<P>> {
        let mut dropped = Vec::new();
        self.runs.iter_mut().for_each(|run| run.retain(&mut keep, &mut dropped));
        self.forget_dropped(dropped)
    }

    fn forget_dropped(&mut self, dropped: Vec<StreamItem<P>>) -> Vec<StreamItem<P>> {
        if !dropped.is_empty() {
            self.len -= dropped.len();
            self.runs.retain(|run| !run.entries.is_empty());
        }
        dropped
    }

    /// Rest of the budget that a greedy pass leaves in front of the first item at or behind `key`.
    pub(super) fn remaining_before(&self, key: &StreamKey, budget: u64) -> u64 {
        let mut left = budget;
        for run in &self.runs {
            let all_before = run.last < *key;
            if all_before && run.totals.sum <= left {
                left -= run.totals.sum;
            } else if run.totals.smallest <= left {
                let before = |entry: &&LiveEntry<P>| entry.cmp_key(key) == Ordering::Less;
                let before = run.entries.iter().take_while(before);
                left = before.fold(left, |left, e| left.checked_sub(e.tokens()).unwrap_or(left));
            }
            if !all_before {
                break;
            }
        }
        left
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &LiveEntry<P>> {
        self.runs.iter().flat_map(|run| &run.entries)
    }

    pub(super) fn into_items(self) -> Vec<StreamItem<P>> {
        let entries = self.runs.into_iter().flat_map(|run| run.entries);
        entries.map(|entry| entry.item).collect()
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
struct Totals {
    /// Tokens of all items.
    sum: u64,
    /// Tokens of the smallest item.
    smallest: u64,
    /// The reach that is left behind the run at least.
    floor: u64,
    /// The smallest reach in front of the run with which every item is live.
    need: u64,
}

impl Totals {
    /// A run of no items.
    const NOTHING: Self = Self { sum: 0, smallest: u64::MAX, floor: 0, need: 0 };

    /// A run of one item.
    ///
    /// A reach is never negative, so the floor of an item without tokens may as well be 0.
    #[inline(always)]
    fn of(tokens: u64) -> Self {
        let floor = tokens.saturating_sub(1);
        Self { sum: tokens, smallest: tokens, floor, need: tokens }
    }

    /// This run with another behind it.
    #[inline(always)]
    fn then(self, next: Self) -> Self {
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
    fn reach(&self, front: u64) -> u64 {
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
