//! Finds the kept item that has the same content as another.

use hashbrown::HashTable;

use super::item::{Key, StreamItem, StreamOrder};
use super::tree::Tree;
use crate::model::ContextItem;

/// What a payload must tell for items with equal content to be reduced to one.
///
/// Items of equal content must have equal tokens. That is so when one tokenizer counted them
/// all, and the rule that makes deduplicating while items arrive exact rests on it.
pub trait StreamContent {
    /// A hash that is equal for equal contents.
    fn content_hash(&self) -> u64;

    /// Whether both contents are equal.
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

/// The kept items by content.
///
/// A dropped item is forgotten with its content, and a later copy of it is treated as new. That
/// changes nothing. If the copy is the better one, the dropped one would have given way to it. If
/// not, it stands behind the dropped one, whose sum of smaller items was already too much: the
/// copy is as dead and is never selected.
#[derive(Clone)]
pub(super) struct Contents<P> {
    slots: HashTable<Slot>,
    // Two functions instead of a bound, so that one type serves payloads with and without content.
    hash: fn(&P) -> u64,
    same: fn(&P, &P) -> bool,
}

#[derive(Clone, Copy)]
struct Slot {
    hash: u64,
    key: Key,
}

impl<P> Contents<P> {
    pub(super) fn new() -> Self
    where
        P: StreamContent,
    {
        Self { slots: HashTable::new(), hash: P::content_hash, same: P::same_content }
    }

    /// The key of the kept item with the same content.
    pub(super) fn holder(&self, kept: &Tree<P>, payload: &P) -> Option<Key> {
        let hash = (self.hash)(payload);
        let same = |slot: &Slot| {
            slot.hash == hash
                && kept.get(&slot.key).is_some_and(|item| (self.same)(&item.payload, payload))
        };
        self.slots.find(hash, same).map(|slot| slot.key)
    }

    pub(super) fn add(&mut self, key: Key, payload: &P) {
        let hash = (self.hash)(payload);
        self.slots.insert_unique(hash, Slot { hash, key }, |slot| slot.hash);
    }

    pub(super) fn remove(&mut self, key: &Key, payload: &P) {
        let hash = (self.hash)(payload);
        if let Ok(slot) = self.slots.find_entry(hash, |slot| slot.key == *key) {
            slot.remove();
        }
    }

    /// Forgets items that are gone.
    pub(super) fn forget(&mut self, order: StreamOrder, dropped: &[StreamItem<P>]) {
        for item in dropped {
            self.remove(&order.key(item), &item.payload);
        }
    }
}
