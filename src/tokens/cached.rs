//! A counter that remembers what it has counted.

use std::fmt;

use super::TokenCounter;
use crate::text_cache::TextCache;

/// Counts each text once, for as long as the text is in use.
///
/// An agent sends nearly the same messages again on every turn, and counting is the dearest part
/// of a turn. The cache is shared between threads, takes a bounded number of bytes, and drops what
/// was not asked for lately. It keeps a hash of each text and its length, not the text: a text of
/// any size is counted once. Two threads that ask for the same new text count it once, too.
///
/// ```
/// use cupel::tokens::{CachedCounter, HeuristicCounter, TokenCounter};
///
/// let counter = CachedCounter::new(HeuristicCounter);
/// counter.count("What is the status?"); // counted
/// counter.count("What is the status?"); // looked up
/// assert_eq!(counter.len(), 1);
/// ```
pub struct CachedCounter<C> {
    counter: C,
    cache: TextCache<i64>,
}

/// About 460,000 texts.
const DEFAULT_CAPACITY: u64 = 32 << 20;

impl<C: TokenCounter> CachedCounter<C> {
    /// Caches the counts of `counter`, in up to 32 MiB: some 460,000 texts.
    pub fn new(counter: C) -> Self {
        Self::with_capacity(counter, DEFAULT_CAPACITY)
    }

    /// Caches the counts of `counter`, in up to so many bytes. A text takes 72, whatever its length.
    pub fn with_capacity(counter: C, bytes: u64) -> Self {
        Self { counter, cache: TextCache::new(bytes, 1_024, |_| 0) }
    }

    /// The counter behind the cache.
    pub fn inner(&self) -> &C {
        &self.counter
    }
}

impl<C> CachedCounter<C> {
    /// How many texts are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cache.len()
    }

    /// Whether no text is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes that takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.cache.bytes()
    }
}

impl<C: TokenCounter> TokenCounter for CachedCounter<C> {
    fn count(&self, text: &str) -> i64 {
        self.cache.get_or_insert(&self.cache.key(text, ()), || self.counter.count(text))
    }

    fn is_ready(&self) -> bool {
        self.counter.is_ready()
    }

    fn name(&self) -> &str {
        self.counter.name()
    }
}

impl<C: TokenCounter> fmt::Debug for CachedCounter<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedCounter")
            .field("counter", &self.counter.name())
            .field("len", &self.len())
            .field("bytes", &self.bytes())
            .finish()
    }
}
