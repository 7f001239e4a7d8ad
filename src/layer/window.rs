//! A budget by the window of the request's model.

use super::{BudgetOrigin, BudgetProvider};
use crate::gather::BoxError;
use crate::model::ContextBudget;

/// Looks up what a budget needs to know of a request and its model. Integrations implement it.
///
/// See [`ModelWindow`] for an example.
pub trait ModelLookup<Req>: Send + Sync {
    /// Limits of the request's model.
    ///
    /// # Errors
    ///
    /// Whatever leaves the model unknown: a wrong window is worse than none.
    fn limits(&self, request: &Req) -> Result<WindowLimits, BoxError>;

    /// The longest answer that the request allows, if it says so.
    ///
    /// # Errors
    ///
    /// Whatever makes the request's own limit unusable.
    fn output_tokens(&self, request: &Req) -> Result<Option<i64>, BoxError>;

    /// Percent of the budget that stays free by default, because the model's tokens can only be
    /// estimated; none unless overridden.
    fn safety_margin_percent(&self, request: &Req) -> f64 {
        let _ = request;
        0.0
    }
}

/// Limits of a model, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WindowLimits {
    /// Tokens for prompt and answer together.
    pub window: i64,
    /// Tokens for the prompt alone, where it may not use up the window.
    pub max_input: Option<i64>,
}

impl WindowLimits {
    /// A window that prompt and answer share freely.
    #[must_use]
    pub const fn new(window: i64) -> Self {
        Self { window, max_input: None }
    }

    /// Limits the prompt alone.
    #[must_use]
    pub const fn max_input(mut self, tokens: i64) -> Self {
        self.max_input = Some(tokens);
        self
    }
}

/// A budget by the request's model: its window, less what the answer may take.
///
/// The answer gets what the request says, or a quarter of the window if that is the whole window or more.
/// When the request does not say, the answer gets [4,096 tokens](DEFAULT_OUTPUT_TOKENS) or a quarter of
/// the window, whichever is less.
///
/// ```
/// use cupel::gather::BoxError;
/// use cupel::layer::{BudgetProvider, ModelLookup, ModelWindow, WindowLimits};
///
/// struct Chat { model: &'static str, max_tokens: Option<i64> }
///
/// struct Models;
///
/// impl ModelLookup<Chat> for Models {
///     fn limits(&self, chat: &Chat) -> Result<WindowLimits, BoxError> {
///         match chat.model {
///             "small" => Ok(WindowLimits::new(8_192)),
///             "large" => Ok(WindowLimits::new(400_000).max_input(272_000)),
///             other => Err(format!("unknown model {other:?}, expected small or large").into()),
///         }
///     }
///
///     fn output_tokens(&self, chat: &Chat) -> Result<Option<i64>, BoxError> {
///         Ok(chat.max_tokens)
///     }
/// }
///
/// let window = ModelWindow::new(Models);
/// let target = |model, max_tokens| -> Result<i64, BoxError> {
///     Ok(window.budget(&Chat { model, max_tokens })?.target_tokens())
/// };
/// assert_eq!(target("small", Some(192))?, 8_000);
/// assert_eq!(target("small", None)?, 8_192 - 2_048);
/// assert_eq!(target("large", None)?, 272_000);
/// assert!(target("unheard-of", None).is_err());
/// # Ok::<(), BoxError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct ModelWindow<M> {
    models: M,
    window: Option<i64>,
    at_most: Option<i64>,
    default_output: Option<i64>,
    safety_margin_percent: Option<f64>,
}

/// Tokens reserved for the answer in a large window, unless the request or a setting says otherwise.
pub const DEFAULT_OUTPUT_TOKENS: i64 = 4_096;

impl<M> ModelWindow<M> {
    /// Windows as `models` knows them, with the safety margin that it asks for.
    pub fn new(models: M) -> Self {
        Self {
            models,
            window: None,
            at_most: None,
            default_output: None,
            safety_margin_percent: None,
        }
    }

    /// Sets the window, whatever is known of the model: for one that nobody lists, or that is
    /// served with another window.
    pub fn tokens(mut self, window: i64) -> Self {
        self.window = Some(window);
        self
    }

    /// Uses no more than so many tokens for prompt and answer, however large the window is.
    pub fn at_most(mut self, tokens: i64) -> Self {
        self.at_most = Some(tokens);
        self
    }

    /// Sets what the answer gets when the request does not say.
    pub fn default_output(mut self, tokens: i64) -> Self {
        self.default_output = Some(tokens);
        self
    }

    /// Keeps this share of the budget free, in percent, for counts that are not the provider's
    /// own; none, or what the model needs, unless set.
    pub fn safety_margin_percent(mut self, percent: f64) -> Self {
        self.safety_margin_percent = Some(percent);
        self
    }
}

impl<Req, M: ModelLookup<Req>> BudgetProvider<Req> for ModelWindow<M> {
    fn budget(&self, request: &Req) -> Result<ContextBudget, BoxError> {
        self.budget_and_origin(request).map(|(budget, _)| budget)
    }

    fn budget_and_origin(&self, request: &Req) -> Result<(ContextBudget, BudgetOrigin), BoxError> {
        let (limits, whose) = match self.window {
            Some(window) => (WindowLimits::new(window), "set window"),
            None => (self.models.limits(request)?, "model's window"),
        };
        let (window, whose) = match self.at_most {
            Some(most) if most < limits.window => (most, "limit set with at_most"),
            _ => (limits.window, whose),
        };
        let (answer, who) = match (self.models.output_tokens(request)?, self.default_output) {
            // A limit that the answer cannot reach: the window ends it before.
            (Some(tokens), _) if tokens >= window => (window / 4, "the request"),
            (Some(tokens), _) => (tokens, "the request"),
            (None, Some(tokens)) => (tokens, "default_output"),
            (None, None) => (DEFAULT_OUTPUT_TOKENS.min(window / 4), "the default"),
        };
        if answer >= window {
            let problem = format!(
                "{who} allows an answer of {answer} tokens, expected less than the {whose} of \
                 {window} tokens, so that something is left for the request"
            );
            return Err(problem.into());
        }
        let most = limits.max_input.map_or(i64::MAX, |input| input.saturating_add(answer));
        let whose =
            if most < window { "model's limit for the prompt, and the answer," } else { whose };
        let margin = self.safety_margin_percent;
        let margin = margin.unwrap_or_else(|| self.models.safety_margin_percent(request));
        let budget = ContextBudget::builder(window.min(most))
            .output_reserve(answer)
            .estimation_safety_margin_percent(margin)
            .build()?;
        Ok((budget, BudgetOrigin::new(whose, who)))
    }
}
