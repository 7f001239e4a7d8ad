//! The counter for a model, by its name.

use std::sync::Arc;

use super::cached::estimate;
#[cfg(feature = "tiktoken")]
use super::shared_counter;
use super::{ClaudeTokenizer, Encoding, TokenCounter};

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
