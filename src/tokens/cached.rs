//! A counter that remembers what it has counted, and one of them for each encoding and process.
//!
//! An agent sends nearly the same messages on every turn, and a second client sends the same
//! system prompt: whoever counts them, they are counted once.

use std::fmt;
#[cfg(any(feature = "cl100k", feature = "o200k"))]
use std::sync::OnceLock;
use std::sync::{Arc, LazyLock};

#[cfg(any(feature = "cl100k", feature = "o200k"))]
use super::BpeCounter;
use super::haste::{is_estimating, note_estimate};
use super::{Encoding, HeuristicCounter, TokenCounter};
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
    /// Number of texts in the cache.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cache.len()
    }

    /// Returns true if no text is in the cache.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the cache takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.cache.bytes()
    }
}

impl<C: TokenCounter> TokenCounter for CachedCounter<C> {
    fn count(&self, text: &str) -> i64 {
        let key = self.cache.key(text, ());
        if is_estimating() {
            let estimate = || {
                note_estimate();
                self.counter.upper_bound(text)
            };
            return self.cache.get(&key).unwrap_or_else(estimate);
        }
        self.cache.get_or_insert(&key, || self.counter.count(text))
    }

    fn upper_bound(&self, text: &str) -> i64 {
        self.counter.upper_bound(text)
    }

    fn is_ready(&self) -> bool {
        self.counter.is_ready()
    }

    fn nanoseconds_per_byte(&self) -> u64 {
        self.counter.nanoseconds_per_byte()
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

static ESTIMATE: LazyLock<Arc<CachedCounter<HeuristicCounter>>> =
    LazyLock::new(|| Arc::new(CachedCounter::new(HeuristicCounter)));

/// The process's estimate.
pub(super) fn estimate() -> Arc<dyn TokenCounter> {
    Arc::<CachedCounter<_>>::clone(&ESTIMATE)
}

/// Has a counter load what it needs on a thread of its own, unless it is
/// [ready](TokenCounter::is_ready).
///
/// ```
/// use cupel::tokens::{counter_for_model, load_in_background};
///
/// load_in_background(counter_for_model("gpt-4o")); // the first call finds it loaded
/// ```
pub fn load_in_background(counter: Arc<dyn TokenCounter>) {
    if !counter.is_ready() {
        let thread = std::thread::Builder::new().name("load encoding".to_owned());
        // Without a thread the first count loads it.
        drop(thread.spawn(move || counter.count("load")));
    }
}

/// The process's counter for an encoding: exact if the encoding [is built in](Encoding::is_built_in), otherwise
/// the estimate of [`HeuristicCounter`].
///
/// ```
/// use cupel::tokens::{Encoding, shared_counter};
///
/// let counter = shared_counter(Encoding::O200k);
/// let is_exact = Encoding::O200k.is_built_in(); // feature `tiktoken` or `o200k`
/// assert_eq!(counter.name(), if is_exact { "o200k_base" } else { "heuristic" });
/// ```
#[must_use]
pub fn shared_counter(encoding: Encoding) -> Arc<dyn TokenCounter> {
    #[cfg(any(feature = "cl100k", feature = "o200k"))]
    if let Some(counter) = BpeCounter::for_encoding(encoding) {
        type Shared = OnceLock<Arc<CachedCounter<BpeCounter>>>;
        static O200K: Shared = OnceLock::new();
        static CL100K: Shared = OnceLock::new();
        let shared = match encoding {
            Encoding::O200k => &O200K,
            Encoding::Cl100k => &CL100K,
        };
        return Arc::<CachedCounter<_>>::clone(
            shared.get_or_init(|| Arc::new(CachedCounter::new(counter))),
        );
    }
    let _ = encoding;
    estimate()
}
