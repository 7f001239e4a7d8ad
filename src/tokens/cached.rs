//! A counter that remembers what it has counted.

use std::convert::Infallible;
use std::fmt;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

use super::TokenCounter;

/// Counts each text once, for as long as the text is in use.
///
/// An agent sends nearly the same messages again on every turn, and counting is the dearest part
/// of a turn. The cache is shared between threads, holds a bounded number of bytes, and drops what
/// was not asked for lately. Its keys are the texts themselves, so a hit is never another text's
/// count; two threads that ask for the same new text count it once.
///
/// ```
/// use cupel::tokens::{CachedCounter, HeuristicCounter, TokenCounter};
///
/// let counter = CachedCounter::new(HeuristicCounter);
/// counter.count("What is the status?"); // counted
/// counter.count("What is the status?"); // looked up
/// assert_eq!(counter.len(), 1);
/// ```
// `quick_cache` rather than `moka`: two small dependencies instead of a dozen, no thread, no
// clock; a hit sets one atomic bit under a shared lock.
pub struct CachedCounter<C> {
    counter: C,
    cache: Cache<String, i64, TextWeight, foldhash::fast::RandomState>,
}

/// About 32,000 messages of one kilobyte.
const DEFAULT_CAPACITY: u64 = 32 << 20;

/// A text larger than a shard is not kept, so shards stay large.
const SHARD_BYTES: u64 = 4 << 20;

/// What an entry takes beside its text.
const ENTRY_BYTES: u64 = 64;

#[derive(Clone)]
struct TextWeight;

impl Weighter<String, i64> for TextWeight {
    fn weight(&self, text: &String, _: &i64) -> u64 {
        text.len() as u64 + ENTRY_BYTES
    }
}

impl<C: TokenCounter> CachedCounter<C> {
    /// Caches the counts of `counter`, up to 32 MiB of text.
    pub fn new(counter: C) -> Self {
        Self::with_capacity(counter, DEFAULT_CAPACITY)
    }

    /// Caches the counts of `counter`, up to about so many bytes of text.
    ///
    /// A text longer than that, or than 4 MiB, may be counted anew each time.
    pub fn with_capacity(counter: C, bytes: u64) -> Self {
        let shards = usize::try_from((bytes / SHARD_BYTES).clamp(1, 64)).unwrap_or(1);
        let entries = usize::try_from(bytes / 1024).unwrap_or(usize::MAX).max(1);
        let hasher = foldhash::fast::RandomState::default;
        let options = OptionsBuilder::new()
            .shards(shards)
            .estimated_items_capacity(entries)
            .weight_capacity(bytes)
            .build();
        let cache = match options {
            Ok(options) => {
                Cache::with_options(options, TextWeight, hasher(), DefaultLifecycle::default())
            }
            // Only for options that are not set.
            Err(_) => {
                Cache::with(entries, bytes, TextWeight, hasher(), DefaultLifecycle::default())
            }
        };
        Self { counter, cache }
    }

    /// The counter behind the cache.
    pub fn inner(&self) -> &C {
        &self.counter
    }
}

impl<C> CachedCounter<C> {
    /// How many texts are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cache.len()
    }

    /// Whether no text is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cache.is_empty()
    }

    /// How many bytes the held texts take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.cache.weight()
    }
}

impl<C: TokenCounter> TokenCounter for CachedCounter<C> {
    fn count(&self, text: &str) -> i64 {
        let count = || Ok::<_, Infallible>(self.counter.count(text));
        match self.cache.get_or_insert_with(text, count) {
            Ok(tokens) => tokens,
            Err(never) => match never {},
        }
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
