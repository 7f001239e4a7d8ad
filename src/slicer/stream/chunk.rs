//! A run of consecutive live items, and what it does to the capacity that passes through it.

use std::cmp::Ordering;

use super::item::{Key, StreamItem, density_key};
use super::reach::Squeeze;
use crate::order;

/// An item that is kept, with its place in greedy order.
#[derive(Clone)]
pub(super) struct Entry<P> {
    density: u64,
    pub(super) item: StreamItem<P>,
    /// What the entries before this one, in its chunk, do to a capacity.
    pub(super) before: Squeeze,
}

impl<P> Entry<P> {
    pub(super) fn new(item: StreamItem<P>) -> Self {
        let density = density_key(item.score, item.tokens);
        Self { density, item, before: Squeeze::NOTHING }
    }

    pub(super) fn tokens(&self) -> u64 {
        self.item.tokens.unsigned_abs()
    }

    pub(super) fn key(&self) -> Key {
        let score = order::descending(self.item.score);
        Key { density: self.density, score, sequence: self.item.sequence }
    }

    /// As comparing keys, but most of the time densities tell.
    fn cmp_key(&self, key: &Key) -> Ordering {
        self.density.cmp(&key.density).then_with(|| self.key().cmp(key))
    }

    pub(super) fn is_before(&self, key: &Key) -> bool {
        self.cmp_key(key) == Ordering::Less
    }
}

/// Consecutive entries with what they add up to.
#[derive(Clone)]
pub(super) struct Chunk<P> {
    pub(super) entries: Vec<Entry<P>>,
    /// Tokens of all entries; beyond every budget when they do not fit 64 bits.
    pub(super) sum: u64,
    /// Tokens of the smallest entry.
    pub(super) smallest: u64,
    /// The largest capacity that some future leaves in front of this chunk.
    pub(super) front: u64,
    /// What the whole chunk does to a capacity.
    pub(super) squeeze: Squeeze,
    /// The smallest `front` with which every entry is live.
    pub(super) need: u64,
}

impl<P> Chunk<P> {
    /// Marks a chunk whose front has yet to be worked out: no budget is as large.
    pub(super) const UNKNOWN: u64 = u64::MAX;

    pub(super) fn new(entries: Vec<Entry<P>>) -> Self {
        let mut chunk = Self {
            entries,
            sum: 0,
            smallest: u64::MAX,
            front: Self::UNKNOWN,
            squeeze: Squeeze::NOTHING,
            need: 0,
        };
        chunk.refresh();
        chunk
    }

    /// Adds everything up again after a change.
    pub(super) fn refresh(&mut self) {
        let mut before = Squeeze::NOTHING;
        (self.smallest, self.need) = (u64::MAX, 0);
        for entry in &mut self.entries {
            let tokens = entry.tokens();
            entry.before = before;
            self.smallest = self.smallest.min(tokens);
            self.need = self.need.max(before.need(tokens));
            before = before.then(tokens);
        }
        self.squeeze = before;
        self.sum = before.sum();
    }

    /// Whether everything in here comes before `key` or is equal to it.
    pub(super) fn ends_at(&self, key: &Key) -> bool {
        self.entries.last().is_none_or(|last| last.cmp_key(key) != Ordering::Greater)
    }

    /// Where an entry of this key goes: behind its equals.
    pub(super) fn position(&self, key: &Key) -> usize {
        self.entries.partition_point(|entry| entry.cmp_key(key) != Ordering::Greater)
    }

    /// Where the entry of exactly this key is.
    pub(super) fn find(&self, key: &Key) -> Option<usize> {
        self.entries.binary_search_by(|entry| entry.cmp_key(key)).ok()
    }

    /// The largest capacity that some future leaves behind this chunk.
    pub(super) fn reach(&self) -> u64 {
        self.squeeze.reach(self.front)
    }

    /// Takes out every entry that `keep` does not want, in order.
    pub(super) fn retain(
        &mut self,
        mut keep: impl FnMut(&Entry<P>) -> bool,
        dropped: &mut Vec<StreamItem<P>>,
    ) {
        let Some(first) = self.entries.iter().position(|entry| !keep(entry)) else {
            return;
        };
        let mut tail = self.entries.split_off(first).into_iter();
        dropped.extend(tail.next().map(|entry| entry.item));
        for entry in tail {
            if keep(&entry) {
                self.entries.push(entry);
            } else {
                dropped.push(entry.item);
            }
        }
        self.refresh();
    }
}
