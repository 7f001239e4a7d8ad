//! Reduces items of equal content to the best one while they arrive.

use hashbrown::HashTable;

use super::item::{StreamItem, StreamKey, StreamOrder, StreamPush};
use super::kept::KeptItems;
use super::rules::RoomRule;
use crate::model::ContextItem;

/// Payload whose content can be compared, so that items with equal content are reduced to one.
///
/// Items of equal content must have equal tokens. That is so when one tokenizer counted them
/// all, and the rule that makes deduplicating while items arrive exact rests on it.
pub trait StreamContent {
    /// A hash that is equal for equal contents.
    fn content_hash(&self) -> u64;

    /// Returns `true` if both contents are equal.
    fn same_content(&self, other: &Self) -> bool;
}

impl StreamContent for ContextItem {
    fn content_hash(&self) -> u64 {
        self.content_hash()
    }

    fn same_content(&self, other: &Self) -> bool {
        self.content() == other.content()
    }
}

/// The rule of what to keep, and the kept items by content.
///
/// A dropped item is forgotten with its content, and a later copy of it is treated as new. That
/// changes nothing. If the copy is the better one, the dropped one would have given way to it. If
/// not, it stands behind the dropped one, whose sum of smaller items was already too much: the
/// copy is as dead and is never selected.
#[derive(Clone)]
pub(super) struct Deduplication<P> {
    /// None if copies may differ in size: then no sum of sizes lasts, and nothing is ever out for
    /// good.
    room: Option<RoomRule>,
    slots: HashTable<Slot>,
    // Two functions instead of a bound, so that one type serves payloads with and without content.
    hash: fn(&P) -> u64,
    same: fn(&P, &P) -> bool,
}

#[derive(Clone, Copy)]
struct Slot {
    hash: u64,
    key: StreamKey,
}

impl<P> Deduplication<P> {
    pub(super) fn new(copies_of_any_size: bool) -> Self
    where
        P: StreamContent,
    {
        Self {
            room: (!copies_of_any_size).then(RoomRule::new),
            slots: HashTable::new(),
            hash: P::content_hash,
            same: P::same_content,
        }
    }

    pub(super) fn allows_copies_of_any_size(&self) -> bool {
        self.room.is_none()
    }

    /// Keeps an item if no kept copy is better and some future could select it.
    pub(super) fn push(
        &mut self,
        kept: &mut KeptItems<P>,
        budget: u64,
        item: StreamItem<P>,
    ) -> StreamPush<P> {
        let (key, tokens) = (kept.order().key(&item), item.tokens.unsigned_abs());
        let hash = (self.hash)(&item.payload);
        let holder = self.holder(kept, hash, &item.payload);
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
            self.forget(kept.order(), std::slice::from_ref(withdrawn));
            if let Some(room) = self.room.as_mut().filter(|_| withdrawn.tokens != item.tokens) {
                room.distrust();
            }
        }
        // Before the item goes in, so that it is not among what the pass takes out.
        let is_due = self.room.as_ref().is_some_and(|room| room.is_due(kept.len()));
        let dropped = if is_due { self.sweep(kept, budget) } else { Vec::new() };
        self.slots.insert_unique(hash, Slot { hash, key }, |slot| slot.hash);
        kept.insert(&key, item);
        StreamPush::Kept { dropped, withdrawn }
    }

    /// The key of the kept item with the same content.
    fn holder(&self, kept: &KeptItems<P>, hash: u64, payload: &P) -> Option<StreamKey> {
        let same = |slot: &Slot| {
            slot.hash == hash
                && kept.get(&slot.key).is_some_and(|item| (self.same)(&item.payload, payload))
        };
        self.slots.find(hash, same).map(|slot| slot.key)
    }

    /// Takes out everything that no future could select.
    pub(super) fn sweep(&mut self, kept: &mut KeptItems<P>, budget: u64) -> Vec<StreamItem<P>> {
        let Some(room) = &mut self.room else {
            return Vec::new();
        };
        let dropped = room.sweep(kept, budget);
        self.forget(kept.order(), &dropped);
        dropped
    }

    /// Forgets items that are gone.
    pub(super) fn forget(&mut self, order: StreamOrder, dropped: &[StreamItem<P>]) {
        for item in dropped {
            let (hash, key) = ((self.hash)(&item.payload), order.key(item));
            if let Ok(slot) = self.slots.find_entry(hash, |slot| slot.key == key) {
                slot.remove();
            }
        }
    }
}
