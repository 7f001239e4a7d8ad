//! Which items some future could still select, when nothing is ever taken back.

use super::chunk::{Chunk, Entry};
use super::item::{Key, StreamItem, StreamPush, density_key};
use super::ordered::{Ordered, Place};

/// What a run of live items does to the largest capacity in front of it.
///
/// One item of `t` tokens turns a reach `m >= t` into `max(t - 1, m - t)`. A run of them turns
/// it into `max(floor, m - sum)`: the maximum of a constant and a difference is again one when
/// two are chained. So a run needs two numbers, however long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Squeeze {
    sum: u64,
    floor: u64,
}

impl Squeeze {
    /// What no items at all do.
    pub(super) const NOTHING: Self = Self { sum: 0, floor: 0 };

    /// The tokens of the run; too large for every budget when they do not fit 64 bits.
    pub(super) fn sum(self) -> u64 {
        self.sum
    }

    /// The run with one more item behind it.
    ///
    /// A reach is never negative, so a floor below zero may as well be zero.
    pub(super) fn then(self, tokens: u64) -> Self {
        Self {
            sum: self.sum.saturating_add(tokens),
            floor: self.floor.saturating_sub(tokens).max(tokens.saturating_sub(1)),
        }
    }

    /// The reach behind the run when it is `front` before it.
    pub(super) fn reach(self, front: u64) -> u64 {
        front.saturating_sub(self.sum).max(self.floor)
    }

    /// The smallest reach before the run with which an item behind it is live.
    pub(super) fn need(self, tokens: u64) -> u64 {
        if self.floor >= tokens { 0 } else { self.sum.saturating_add(tokens) }
    }
}

/// Drops an item as soon as nothing that arrives could make it fit.
#[derive(Debug, Clone)]
pub(super) struct ReachRule {
    /// Density key of the last live item: most arrivals of a long stream come behind it.
    tail: u64,
    /// The reach behind the last live item.
    reach: u64,
}

impl ReachRule {
    pub(super) fn new(budget: u64) -> Self {
        Self { tail: 0, reach: budget }
    }

    /// Keeps an item if some future could select it.
    pub(super) fn push<P>(
        &mut self,
        live: &mut Ordered<P>,
        budget: u64,
        item: StreamItem<P>,
    ) -> StreamPush<P> {
        let tokens = item.tokens.unsigned_abs();
        if tokens > self.reach && density_key(item.score, item.tokens) > self.tail {
            return StreamPush::Dropped(item);
        }
        let place = live.place_of(&Key::of(&item));
        if tokens > self.reach_at(live, place) {
            return StreamPush::Dropped(item);
        }
        live.insert(place, Entry::new(item));
        StreamPush::Kept { dropped: self.update(live, place.chunk, budget), withdrawn: None }
    }

    /// The largest capacity that some future leaves at a place.
    fn reach_at<P>(&self, live: &Ordered<P>, place: Place) -> u64 {
        let Some(chunk) = live.chunks.get(place.chunk) else {
            return self.reach;
        };
        chunk
            .entries
            .get(place.index)
            .map_or(chunk.squeeze, |entry| entry.before)
            .reach(chunk.front)
    }

    /// Brings reaches up to date from a chunk on; returns what is no longer live.
    ///
    /// A reach only ever shrinks: an arrival takes some of it away, and an item that dies held a
    /// reach of at least its own size less one behind it, which the smaller one it leaves cannot
    /// exceed. So a chunk whose front is what it was, and all behind it, are as they were.
    pub(super) fn update<P>(
        &mut self,
        live: &mut Ordered<P>,
        from: usize,
        budget: u64,
    ) -> Vec<StreamItem<P>> {
        let (mut dropped, mut shorter) = (Vec::new(), Vec::new());
        let before = from.checked_sub(1).and_then(|before| live.chunks.get(before));
        let mut front = before.map_or(budget, Chunk::reach);
        for (position, chunk) in live.chunks.iter_mut().enumerate().skip(from) {
            if chunk.front == front {
                break;
            }
            chunk.front = front;
            if front < chunk.need {
                let mut reach = front;
                let keep = |entry: &Entry<P>| {
                    let tokens = entry.tokens();
                    let live = tokens <= reach;
                    if live {
                        reach = (reach - tokens).max(tokens.saturating_sub(1));
                    }
                    live
                };
                chunk.retain(keep, &mut dropped);
                shorter.push(position);
            }
            front = chunk.reach();
        }
        live.lost(dropped.len(), &shorter);
        let last = live.chunks.last();
        self.reach = last.map_or(budget, Chunk::reach);
        self.tail = last.and_then(|chunk| chunk.entries.last()).map_or(0, |e| e.key().density);
        dropped
    }
}
