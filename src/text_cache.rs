//! Values made of texts, remembered by a hash of each text, in bounded memory.

use std::convert::Infallible;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

/// Identity of a text: a hash of it, its length, and whatever else makes a difference.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TextKey<T = ()> {
    hash: u64,
    bytes: usize,
    pub(crate) tag: T,
}

/// Values of texts. Those that were not asked for lately go first. Cheap to share between threads.
// `quick_cache` rather than `moka`: two small dependencies instead of a dozen, no thread, no
// clock; a hit sets one atomic bit under a shared lock.
pub(crate) struct TextCache<V, T = ()> {
    cache: Cache<TextKey<T>, V, Weight<V>, RandomState>,
    /// With a seed of its own, so that nobody can prepare texts that collide.
    hasher: foldhash::quality::RandomState,
}

/// Bytes of a value beside its entry.
struct Weight<V>(fn(&V) -> usize);

impl<V> Clone for Weight<V> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

/// Bytes of an entry beside its value.
const ENTRY_BYTES: u64 = 72;

impl<V, T> Weighter<TextKey<T>, V> for Weight<V> {
    fn weight(&self, _: &TextKey<T>, value: &V) -> u64 {
        (self.0)(value) as u64 + ENTRY_BYTES
    }
}

impl<V: Clone, T: Eq + Hash + Clone> TextCache<V, T> {
    /// Keeps up to so many bytes, with room for entries of this size to begin with.
    pub(crate) fn new(bytes: u64, entry_bytes: u64, weigh: fn(&V) -> usize) -> Self {
        let entries = usize::try_from(bytes / entry_bytes).unwrap_or(usize::MAX).clamp(1, 1 << 20);
        let shards = usize::try_from((bytes >> 20).clamp(1, 16)).unwrap_or(1);
        let options = OptionsBuilder::new()
            .shards(shards)
            .estimated_items_capacity(entries)
            .weight_capacity(bytes)
            .build();
        let (weight, hasher) = (Weight(weigh), RandomState::default());
        let lifecycle = DefaultLifecycle::default();
        let cache = match options {
            Ok(options) => Cache::with_options(options, weight, hasher, lifecycle),
            // Only for options that are not set.
            Err(_) => Cache::with(entries, bytes, weight, hasher, lifecycle),
        };
        Self { cache, hasher: foldhash::quality::RandomState::default() }
    }

    pub(crate) fn key(&self, text: &str, tag: T) -> TextKey<T> {
        TextKey { hash: self.hasher.hash_one(text.as_bytes()), bytes: text.len(), tag }
    }

    pub(crate) fn get(&self, key: &TextKey<T>) -> Option<V> {
        self.cache.get(key)
    }

    pub(crate) fn contains(&self, key: &TextKey<T>) -> bool {
        self.cache.contains_key(key)
    }

    pub(crate) fn insert(&self, key: TextKey<T>, value: V) {
        self.cache.insert(key, value);
    }

    /// The value, made once even if several threads ask at the same time.
    pub(crate) fn get_or_insert(&self, key: &TextKey<T>, make: impl FnOnce() -> V) -> V {
        match self.cache.get_or_insert_with(key, || Ok::<_, Infallible>(make())) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.cache.len()
    }

    /// Bytes that the entries take.
    pub(crate) fn bytes(&self) -> u64 {
        self.cache.weight()
    }
}
