//! Limits of the model, of a pipeline and of a step, and the policy for steps that do not fit.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::problem::{ContractError, ContractPlace, ContractProblem};
use crate::tokens::{FormatOverhead, TokenCounter};

/// The safety margin of a pipeline that sets none.
pub const DEFAULT_SAFETY_MARGIN_TOKENS: i64 = 128;

/// The largest limit that is accepted. A larger number is taken for a typing error.
pub const MAX_TOKENS: i64 = 1_000_000_000_000;

/// Limits of the model: `config.json`.
///
/// ```
/// use cupel::contract::ModelLimits;
///
/// let limits = ModelLimits::new(16_384).max_tokens(2_048);
/// assert_eq!(limits.context_window, Some(16_384));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[must_use]
pub struct ModelLimits {
    /// `model_context_window`: prompt and answer together. Required.
    pub context_window: Option<i64>,
    /// `model_max_tokens`: the answer's length for steps that set none.
    pub max_tokens: Option<i64>,
}

impl ModelLimits {
    /// Limits of a model with a window of so many tokens.
    pub fn new(context_window: i64) -> Self {
        Self { context_window: Some(context_window), max_tokens: None }
    }

    /// Sets the answer's length for steps that set none.
    pub fn max_tokens(mut self, tokens: i64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }
}

/// The budgets that all steps of a pipeline share: its `settings`.
///
/// ```
/// use cupel::contract::PipelineSettings;
///
/// let settings = PipelineSettings::new(6_000).max_history_tokens(1_200);
/// assert_eq!(settings.safety_margin_tokens, None); // the default, 128
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[must_use]
pub struct PipelineSettings {
    /// `max_context_tokens`: retrieved context. Required.
    pub max_context_tokens: Option<i64>,
    /// `max_history_tokens`: required when any step uses the history.
    pub max_history_tokens: Option<i64>,
    /// `budget_safety_margin_tokens`: [`DEFAULT_SAFETY_MARGIN_TOKENS`] unless set.
    pub safety_margin_tokens: Option<i64>,
}

impl PipelineSettings {
    /// Settings with a context budget.
    pub fn new(max_context_tokens: i64) -> Self {
        Self { max_context_tokens: Some(max_context_tokens), ..Self::default() }
    }

    /// Sets the history budget.
    pub fn max_history_tokens(mut self, tokens: i64) -> Self {
        self.max_history_tokens = Some(tokens);
        self
    }

    /// Sets the safety margin.
    pub fn safety_margin_tokens(mut self, tokens: i64) -> Self {
        self.safety_margin_tokens = Some(tokens);
        self
    }
}

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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
        Self { name: name.into(), ..Self::default() }
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

/// The environment variable that may ask for [`LimitsPolicy::AutoClamp`].
pub const POLICY_VARIABLE: &str = "PIPELINE_LIMITS_POLICY";

/// Reaction to a step that does not fit the window.
///
/// ```
/// use cupel::contract::LimitsPolicy;
///
/// assert_eq!(LimitsPolicy::default(), LimitsPolicy::FailFast);
/// assert_eq!("auto_clamp".parse(), Ok(LimitsPolicy::AutoClamp));
/// assert_eq!(
///     "lenient".parse::<LimitsPolicy>().unwrap_err().to_string(),
///     r#"policy: got "lenient", expected "fail_fast" or "auto_clamp""#,
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LimitsPolicy {
    /// It is an error. The only policy for production.
    #[default]
    FailFast,
    /// Limits shrink until it fits, in memory only, and every change is reported and logged:
    /// the context of the whole pipeline first, then the answers of the steps that are still
    /// over. For development and tests.
    AutoClamp,
}

impl LimitsPolicy {
    /// The policy that [`POLICY_VARIABLE`] asks for, if it is set.
    ///
    /// # Errors
    ///
    /// [`ContractError`] when the variable is set to anything but a policy.
    pub fn from_env() -> Result<Option<Self>, ContractError> {
        match std::env::var_os(POLICY_VARIABLE) {
            None => Ok(None),
            Some(word) => Self::parse_at(&word.to_string_lossy(), POLICY_VARIABLE).map(Some),
        }
    }

    fn parse_at(word: &str, key: &str) -> Result<Self, ContractError> {
        match word {
            "fail_fast" => Ok(Self::FailFast),
            "auto_clamp" => Ok(Self::AutoClamp),
            word => {
                let expected = "\"fail_fast\" or \"auto_clamp\"";
                let problem = ContractProblem::invalid(
                    ContractPlace::key(key),
                    format!("{word:?}"),
                    expected,
                );
                Err(problem.into())
            }
        }
    }
}

impl fmt::Display for LimitsPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::FailFast => "fail_fast",
            Self::AutoClamp => "auto_clamp",
        })
    }
}

impl FromStr for LimitsPolicy {
    type Err = ContractError;

    fn from_str(word: &str) -> Result<Self, ContractError> {
        Self::parse_at(word, "policy")
    }
}
