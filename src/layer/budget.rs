//! The budget of a call: fixed, or computed from the request.

use auto_impl::auto_impl;

use crate::contract::CheckedStep;
use crate::gather::BoxError;
use crate::model::ContextBudget;

/// Says how many tokens a request may use.
///
/// A [`ContextBudget`] is the same for every request; a function computes one:
///
/// ```
/// use cupel::layer::BudgetProvider;
/// use cupel::ContextBudget;
///
/// struct Chat { model: &'static str, max_tokens: i64 }
///
/// let by_model = |chat: &Chat| {
///     let window = match chat.model {
///         "small" => 8_192,
///         "large" => 128_000,
///         other => return Err(format!("unknown model {other:?}, expected small or large").into()),
///     };
///     Ok(ContextBudget::builder(window).output_reserve(chat.max_tokens).build()?)
/// };
/// let budget = by_model.budget(&Chat { model: "small", max_tokens: 1_000 }).unwrap();
/// assert_eq!(budget.target_tokens(), 7_192);
/// assert!(by_model.budget(&Chat { model: "unheard-of", max_tokens: 0 }).is_err());
/// ```
#[auto_impl(Arc)]
pub trait BudgetProvider<Req>: Send + Sync {
    /// The budget for this request.
    ///
    /// # Errors
    ///
    /// Whatever leaves the budget unknown; the call fails with it before anything is gathered.
    fn budget(&self, request: &Req) -> Result<ContextBudget, BoxError>;

    /// The budget, and who set what of it: errors say so.
    ///
    /// # Errors
    ///
    /// As for [`budget`](Self::budget).
    fn budget_and_origin(&self, request: &Req) -> Result<(ContextBudget, BudgetOrigin), BoxError> {
        Ok((self.budget(request)?, BudgetOrigin::default()))
    }
}

/// Labels of the window and of the output reserve, for error messages, and the window on which a plan's grid
/// depends. The labels complete "the … of 8192 tokens" and "set by …".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetOrigin {
    /// Label of the whole budget: `"model's window"`.
    pub window: &'static str,
    /// Label of the setting that reserves tokens for the answer: `"the request"`.
    pub answer: &'static str,
    /// Tokens of the window before a correction of the count made it another one. The grid of a
    /// [plan](crate::conversation::plan) depends on it, so that a correction does not move the cut.
    pub grid_window: Option<i64>,
}

impl BudgetOrigin {
    /// Labels of the window and of the output reserve.
    #[must_use]
    pub const fn new(window: &'static str, answer: &'static str) -> Self {
        Self { window, answer, grid_window: None }
    }
}

impl Default for BudgetOrigin {
    fn default() -> Self {
        Self::new("budget", "the budget")
    }
}

impl<Req> BudgetProvider<Req> for ContextBudget {
    fn budget(&self, _request: &Req) -> Result<ContextBudget, BoxError> {
        Ok(self.clone())
    }
}

impl<Req, F> BudgetProvider<Req> for F
where
    F: Fn(&Req) -> Result<ContextBudget, BoxError> + Send + Sync,
{
    fn budget(&self, request: &Req) -> Result<ContextBudget, BoxError> {
        self(request)
    }
}

/// The budget of the step's whole request.
impl<Req> BudgetProvider<Req> for CheckedStep {
    fn budget(&self, _request: &Req) -> Result<ContextBudget, BoxError> {
        Ok(self.request_budget())
    }
}
