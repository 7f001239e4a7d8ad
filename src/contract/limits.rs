//! The limits of the model and of a pipeline.

/// The safety margin of a pipeline that sets none.
pub const DEFAULT_SAFETY_MARGIN_TOKENS: i64 = 128;

/// The largest limit that is accepted. A larger number is taken for a typing error.
pub const MAX_TOKENS: i64 = 1_000_000_000_000;

/// What the model can take and give: `config.json`.
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
