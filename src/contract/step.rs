//! One step that calls the model, and the tokens of its prompt that never change.

use std::sync::Arc;

use crate::tokens::{FormatOverhead, TokenCounter};

/// A step that calls the model (`call_model`).
///
/// ```
/// use cupel::contract::{FormatOverhead, GenerationStep};
/// use cupel::tokens::counter_fn;
///
/// let step = GenerationStep::new("answer")
///     .system_prompt("Answer briefly.")
///     .user_part("### Evidence: {} ###")
///     .use_history(true)
///     .max_output_tokens(800);
/// let words = counter_fn("words", |text| text.split_whitespace().count() as i64);
/// // Two words, three words with an empty value, two roles, and the format of two messages.
/// assert_eq!(step.fixed_tokens(&words, FormatOverhead::CHAT), 2 + 3 + 2 + 9);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct GenerationStep {
    pub(super) name: Arc<str>,
    pub(super) system_prompt: Option<Arc<str>>,
    pub(super) user_parts: Vec<String>,
    pub(super) use_history: bool,
    pub(super) max_output_tokens: Option<i64>,
    pub(super) max_tokens: Option<i64>,
}

impl GenerationStep {
    /// A step without a prompt.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            system_prompt: None,
            user_parts: Vec::new(),
            use_history: false,
            max_output_tokens: None,
            max_tokens: None,
        }
    }

    /// Sets the system prompt.
    pub fn system_prompt(mut self, text: impl Into<Arc<str>>) -> Self {
        self.system_prompt = Some(text.into());
        self
    }

    /// Adds a template of the user message; `{}` is where a value goes.
    pub fn user_part(mut self, template: impl Into<String>) -> Self {
        self.user_parts.push(template.into());
        self
    }

    /// Sets whether the step sends the chat history.
    pub fn use_history(mut self, uses: bool) -> Self {
        self.use_history = uses;
        self
    }

    /// Sets the longest answer. It comes before [`max_tokens`](Self::max_tokens) and before the
    /// model's own limit.
    pub fn max_output_tokens(mut self, tokens: i64) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }

    /// Sets the longest answer if [`max_output_tokens`](Self::max_output_tokens) is not set.
    pub fn max_tokens(mut self, tokens: i64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// The step's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The part of the prompt that is always there: the system prompt, the templates with empty
    /// values, and the format of the system and the user message.
    pub fn fixed_tokens<C: TokenCounter + ?Sized>(
        &self,
        counter: &C,
        overhead: FormatOverhead,
    ) -> i64 {
        let mut fixed = overhead.answer.saturating_add(overhead.message(counter, "user"));
        let mut add = |tokens: i64| fixed = fixed.saturating_add(tokens.max(0));
        if let Some(prompt) = &self.system_prompt {
            add(overhead.message(counter, "system"));
            add(counter.count(prompt));
        }
        for template in &self.user_parts {
            add(counter.count(&template.replace("{}", "")));
        }
        fixed
    }
}
