//! Reduces items of equal content to the best one while they arrive.

use super::contents::{Contents, StreamContent};
use super::item::{StreamItem, StreamOrder, StreamPush};
use super::room::RoomRule;
use super::tree::Tree;

/// The rule of what to keep, and the contents that are kept.
#[derive(Clone)]
pub(super) struct Deduplication<P> {
    /// None when copies may differ in size: then no sum of sizes lasts, and nothing is ever out for
    /// good.
    room: Option<RoomRule>,
    contents: Contents<P>,
}

impl<P> Deduplication<P> {
    pub(super) fn new(copies_of_any_size: bool) -> Self
    where
        P: StreamContent,
    {
        let room = (!copies_of_any_size).then(RoomRule::new);
        Self { room, contents: Contents::new() }
    }

    pub(super) fn allows_copies_of_any_size(&self) -> bool {
        self.room.is_none()
    }

    /// Keeps an item if no kept copy is better and some future could select it.
    pub(super) fn push(
        &mut self,
        kept: &mut Tree<P>,
        budget: u64,
        item: StreamItem<P>,
    ) -> StreamPush<P> {
        let (key, tokens) = (kept.order().key(&item), item.tokens.unsigned_abs());
        let holder = self.contents.holder(kept, &item.payload);
        match &holder {
            // As in a batch, equal scores leave the place to the item that is earlier there.
            Some(holder) if (holder.score, holder.sequence) <= (key.score, key.sequence) => {
                return StreamPush::Duplicate(item);
            }
            None => {
                let is_dead = |room: &RoomRule| tokens > budget || room.is_dead(&key, tokens);
                if self.room.as_ref().is_some_and(is_dead) {
                    return StreamPush::Dropped(item);
                }
            }
            _ => {}
        }
        let withdrawn = holder.and_then(|holder| kept.remove(&holder));
        if let Some(withdrawn) = &withdrawn {
            self.contents.remove(&kept.order().key(withdrawn), &withdrawn.payload);
            if let Some(room) = self.room.as_mut().filter(|_| withdrawn.tokens != item.tokens) {
                room.distrust();
            }
        }
        // Before the item goes in, so that it is not among what the pass takes out.
        let is_due = self.room.as_ref().is_some_and(|room| room.is_due(kept.len()));
        let dropped = if is_due { self.sweep(kept, budget) } else { Vec::new() };
        self.contents.add(key, &item.payload);
        kept.insert(&key, item);
        StreamPush::Kept { dropped, withdrawn }
    }

    /// Takes out everything that no future could select.
    pub(super) fn sweep(&mut self, kept: &mut Tree<P>, budget: u64) -> Vec<StreamItem<P>> {
        let Some(room) = &mut self.room else {
            return Vec::new();
        };
        let dropped = room.sweep(kept, budget);
        self.contents.forget(kept.order(), &dropped);
        dropped
    }

    pub(super) fn forget(&mut self, order: StreamOrder, dropped: &[StreamItem<P>]) {
        self.contents.forget(order, dropped);
    }
}
