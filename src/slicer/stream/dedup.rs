//! Reduces items of equal content to the best one while they arrive.

use super::contents::{Contents, StreamContent};
use super::item::{Key, StreamItem, StreamPush};
use super::room::RoomRule;
use super::tree::Tree;

/// The rule of what to keep, and the contents that are kept.
#[derive(Clone)]
pub(super) struct Deduplication<P> {
    room: RoomRule,
    contents: Contents<P>,
}

impl<P> Deduplication<P> {
    pub(super) fn new() -> Self
    where
        P: StreamContent,
    {
        Self { room: RoomRule::new(), contents: Contents::new() }
    }

    /// Keeps an item if no kept copy is better and some future could select it.
    pub(super) fn push(
        &mut self,
        kept: &mut Tree<P>,
        budget: u64,
        item: StreamItem<P>,
    ) -> StreamPush<P> {
        let (key, tokens) = (Key::of(&item), item.tokens.unsigned_abs());
        let holder = self.contents.holder(kept, &item.payload);
        match &holder {
            // As in a batch, equal scores leave the place to the item that is earlier there.
            Some(holder) if (holder.score, holder.sequence) <= (key.score, key.sequence) => {
                return StreamPush::Duplicate(item);
            }
            None if tokens > budget || self.room.is_dead(&key, tokens) => {
                return StreamPush::Dropped(item);
            }
            _ => {}
        }
        let withdrawn = holder.and_then(|holder| kept.remove(&holder));
        if let Some(withdrawn) = &withdrawn {
            self.contents.remove(&Key::of(withdrawn), &withdrawn.payload);
            if withdrawn.tokens != item.tokens {
                self.room.distrust();
            }
        }
        // Before the item goes in, so that it is not among what the pass takes out.
        let dropped =
            if self.room.is_due(kept.len()) { self.sweep(kept, budget) } else { Vec::new() };
        self.contents.add(key, &item.payload);
        kept.insert(&key, item);
        StreamPush::Kept { dropped, withdrawn }
    }

    /// Takes out everything that no future could select.
    pub(super) fn sweep(&mut self, kept: &mut Tree<P>, budget: u64) -> Vec<StreamItem<P>> {
        let dropped = self.room.sweep(kept, budget);
        self.contents.forget(&dropped);
        dropped
    }

    pub(super) fn forget(&mut self, dropped: &[StreamItem<P>]) {
        self.contents.forget(dropped);
    }
}
