//! Counting tokens: exactly, by estimate, and only once for each text.
//!
//! ```
//! use cupel::ContextItem;
//! use cupel::tokens::{CachedCounter, HeuristicCounter, TokenCounter};
//!
//! // With feature `tiktoken`: `CachedCounter::new(BpeCounter::for_model("gpt-4o")?)`.
//! let counter = CachedCounter::new(HeuristicCounter);
//! let text = "Deploys are frozen on Fridays.";
//! let item = ContextItem::new(text, counter.count(text))?;
//! assert_eq!(item.tokens(), 7);
//! # Ok::<(), cupel::CupelError>(())
//! ```

#[cfg(feature = "tiktoken")]
mod bpe;
mod cached;
mod counter;
mod encoding;
mod heuristic;

#[cfg(feature = "tiktoken")]
pub use bpe::BpeCounter;
pub use cached::CachedCounter;
pub use counter::{CounterFn, TokenCounter, counter_fn};
pub use encoding::Encoding;
pub use heuristic::HeuristicCounter;
