//! Counting tokens: exactly, by estimate, and only once for each text.
//!
//! ```
//! use cupel::ContextItem;
//! use cupel::tokens::{CachedCounter, HeuristicCounter};
//!
//! let counter = CachedCounter::new(HeuristicCounter);
//! let item = ContextItem::counted("Deploys are frozen on Fridays.", &counter)?;
//! assert_eq!(item.tokens(), 7);
//! # Ok::<(), cupel::CupelError>(())
//! ```
//!
//! [`counter_for_model`] gives the cached counter that the whole process shares for a model.

#[cfg(any(feature = "cl100k", feature = "o200k"))]
mod bpe;
mod cached;
mod claude;
mod counter;
mod counter_for_model;
mod encoding;
mod haste;
mod heuristic;
#[cfg(feature = "tokenizers")]
mod hugging_face;
mod local_estimate;
mod overhead;
#[cfg(feature = "tools")]
mod tools;
#[cfg(any(feature = "cl100k", feature = "o200k"))]
mod vocabulary;

#[cfg(any(feature = "cl100k", feature = "o200k"))]
pub use bpe::BpeCounter;
pub use cached::{CachedCounter, load_in_background, shared_counter};
pub use claude::{ClaudeTokenizer, claude_counter};
pub use counter::{CounterFn, TokenCounter, counter_fn};
pub use counter_for_model::counter_for_model;
pub use encoding::{Encoding, ModelName};
pub(crate) use haste::with_estimates;
pub use heuristic::HeuristicCounter;
#[cfg(feature = "tokenizers")]
pub use hugging_face::{ChatTemplate, ModelFiles, TokenizerError, TokenizerFile};
pub use local_estimate::{LocalEstimate, LocalFamily, SingleDigits};
pub use overhead::FormatOverhead;
#[cfg(feature = "tools")]
pub use tools::ToolPrices;
