//! Rule for streams without duplicates: drops the items that can never be selected.

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
