//! One cached counter for each encoding and process.
//!
//! An agent sends nearly the same messages on every turn, and a second client sends the same
//! system prompt: whoever counts them, they are counted once.

use std::sync::{Arc, LazyLock};

#[cfg(feature = "tiktoken")]
use super::BpeCounter;
use super::{CachedCounter, ClaudeTokenizer, Encoding, HeuristicCounter, TokenCounter};

static ESTIMATE: LazyLock<Arc<CachedCounter<HeuristicCounter>>> =
    LazyLock::new(|| Arc::new(CachedCounter::new(HeuristicCounter)));

/// The process's counter for a model: exact where feature `tiktoken` is on and the model's encoding
/// is known, an estimate otherwise, for Claude's models times [what they need more](ClaudeTokenizer).
///
/// ```
/// use cupel::tokens::counter_for_model;
///
/// assert_eq!(counter_for_model("some-other-model").name(), "heuristic");
/// assert_eq!(counter_for_model("claude-haiku-4-5").name(), "claude estimate");
/// # #[cfg(feature = "tiktoken")]
/// assert_eq!(counter_for_model("openai/gpt-4o").name(), "o200k_base");
/// ```
#[must_use]
pub fn counter_for_model(model: &str) -> Arc<dyn TokenCounter> {
    match Encoding::for_model(model) {
        #[cfg(feature = "tiktoken")]
        Ok(encoding) => shared_counter(encoding),
        _ => ClaudeTokenizer::of_model(model).map_or_else(estimate, ClaudeTokenizer::counter),
    }
}

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

/// The process's exact counter for an encoding.
#[cfg(feature = "tiktoken")]
#[must_use]
pub fn shared_counter(encoding: Encoding) -> Arc<dyn TokenCounter> {
    type Shared = LazyLock<Arc<CachedCounter<BpeCounter>>>;
    fn cached(encoding: Encoding) -> Arc<CachedCounter<BpeCounter>> {
        Arc::new(CachedCounter::new(BpeCounter::new(encoding)))
    }
    static O200K: Shared = LazyLock::new(|| cached(Encoding::O200k));
    static CL100K: Shared = LazyLock::new(|| cached(Encoding::Cl100k));
    let shared = match encoding {
        Encoding::O200k => &O200K,
        Encoding::Cl100k => &CL100K,
    };
    Arc::<CachedCounter<_>>::clone(shared)
}
