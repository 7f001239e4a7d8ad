//! The kept items in greedy order, in short runs so that an insertion moves few of them.

use super::chunk::{Chunk, Entry};
use super::item::{Key, StreamItem};

/// A chunk is split beyond this length. Long enough that chunks are few, short enough that
/// adding one up again is not felt.
const CHUNK: usize = 64;

/// Whether two neighbours of these lengths become one; half a chunk, so that it is not split
/// again at once.
fn join(a: usize, b: usize) -> bool {
    a + b <= CHUNK / 2
}

/// Kept items by key.
#[derive(Clone)]
pub(super) struct Ordered<P> {
    pub(super) chunks: Vec<Chunk<P>>,
    len: usize,
}

/// A position in an [`Ordered`].
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) chunk: usize,
    pub(super) index: usize,
}

impl<P> Ordered<P> {
    pub(super) fn new() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry<P>> {
        self.chunks.iter().flat_map(|chunk| &chunk.entries)
    }

    pub(super) fn into_items(self) -> impl Iterator<Item = StreamItem<P>> {
        self.chunks.into_iter().flat_map(|chunk| chunk.entries).map(|entry| entry.item)
    }

    /// Where an entry of this key goes.
    pub(super) fn place_of(&self, key: &Key) -> Place {
        let chunk = self.chunks.partition_point(|chunk| chunk.ends_at(key));
        // Behind everything: at the end of the last chunk.
        let chunk = chunk.min(self.chunks.len().saturating_sub(1));
        let index = self.chunks.get(chunk).map_or(0, |chunk| chunk.position(key));
        Place { chunk, index }
    }

    fn find(&self, key: &Key) -> Option<Place> {
        let chunk = self
            .chunks
            .partition_point(|chunk| chunk.entries.last().is_none_or(|last| last.is_before(key)));
        let index = self.chunks.get(chunk)?.find(key)?;
        Some(Place { chunk, index })
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Entry<P>> {
        let place = self.find(key)?;
        self.chunks.get(place.chunk)?.entries.get(place.index)
    }

    pub(super) fn insert(&mut self, place: Place, entry: Entry<P>) {
        self.len += 1;
        let Some(chunk) = self.chunks.get_mut(place.chunk) else {
            self.chunks.push(Chunk::new(vec![entry]));
            return;
        };
        chunk.front = Chunk::<P>::UNKNOWN;
        chunk.entries.insert(place.index.min(chunk.entries.len()), entry);
        let rest = (chunk.entries.len() > CHUNK).then(|| chunk.entries.split_off(CHUNK / 2));
        chunk.refresh();
        if let Some(rest) = rest {
            self.chunks.insert(place.chunk + 1, Chunk::new(rest));
        }
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Entry<P>> {
        let place = self.find(key)?;
        let chunk = self.chunks.get_mut(place.chunk)?;
        let entry = chunk.entries.remove(place.index);
        chunk.refresh();
        self.lost(1, &[place.chunk]);
        Some(entry)
    }

    /// Takes note of entries that are gone, and of the chunks they were in.
    ///
    /// Neighbours that have become short are joined, so that many losses do not leave many
    /// nearly empty chunks behind.
    pub(super) fn lost(&mut self, entries: usize, shorter: &[usize]) {
        self.len -= entries;
        let length = |chunk: usize| self.chunks.get(chunk).map(|chunk| chunk.entries.len());
        let fits = |a: Option<usize>, b: Option<usize>| a.zip(b).is_some_and(|(a, b)| join(a, b));
        let joinable = |&chunk: &usize| {
            let (own, before) = (length(chunk), chunk.checked_sub(1).and_then(length));
            own == Some(0) || fits(before, own) || fits(own, length(chunk + 1))
        };
        if shorter.iter().any(joinable) {
            self.join_short();
        }
    }

    fn join_short(&mut self) {
        let mut joined: Vec<Chunk<P>> = Vec::with_capacity(self.chunks.len());
        for mut chunk in self.chunks.drain(..) {
            match joined.last_mut() {
                _ if chunk.entries.is_empty() => {}
                Some(last) if join(last.entries.len(), chunk.entries.len()) => {
                    last.entries.append(&mut chunk.entries);
                    last.refresh();
                }
                _ => joined.push(chunk),
            }
        }
        self.chunks = joined;
    }

    /// What a greedy pass leaves of `left` in front of the first item at or behind `key`.
    pub(super) fn remaining_before(&self, key: &Key, mut left: u64) -> u64 {
        for chunk in &self.chunks {
            let whole = chunk.entries.last().is_none_or(|last| last.is_before(key));
            if whole && chunk.sum <= left {
                left -= chunk.sum;
            } else if left >= chunk.smallest {
                for entry in chunk.entries.iter().take_while(|entry| entry.is_before(key)) {
                    left = left.checked_sub(entry.tokens()).unwrap_or(left);
                }
            }
            if !whole {
                break;
            }
        }
        left
    }
}
