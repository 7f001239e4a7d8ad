//! The counter for a model, by its name.

use std::sync::Arc;

use super::cached::estimate;
use super::{ClaudeTokenizer, Encoding, TokenCounter, shared_counter};

/// The process's counter for a model: exact where the model's encoding is known and
/// [built in](Encoding::is_built_in), an estimate otherwise, for Claude's models times [what they need more](ClaudeTokenizer).
///
/// ```
/// use cupel::tokens::counter_for_model;
///
/// assert_eq!(counter_for_model("some-other-model").name(), "heuristic");
/// assert_eq!(counter_for_model("claude-haiku-4-5").name(), "claude estimate");
/// # #[cfg(feature = "o200k")]
/// assert_eq!(counter_for_model("openai/gpt-4o").name(), "o200k_base");
/// ```
#[must_use]
pub fn counter_for_model(model: &str) -> Arc<dyn TokenCounter> {
    match Encoding::for_model(model) {
        Ok(encoding) => shared_counter(encoding),
        _ => ClaudeTokenizer::of_model(model).map_or_else(estimate, ClaudeTokenizer::counter),
    }
}
