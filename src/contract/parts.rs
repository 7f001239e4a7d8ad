//! The five parts of a step's budget, their sum, and the line that shows it.

use crate::names::Grouped;
use std::fmt;
use std::sync::Arc;

/// What one step needs in the worst case, and the window it has to fit.
///
/// Its text is the arithmetic:
/// `router: 412 fixed + 0 + 6,000 + 4,096 + 128 = 10,636 > 9,600, over by 1,036`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepBudget {
    /// The step's name.
    pub name: Arc<str>,
    /// The prompt without any value: system prompt, templates, message format.
    pub fixed_prompt: i64,
    /// `max_history_tokens` if the step uses the history, else 0.
    pub history: i64,
    /// `max_context_tokens`.
    pub context: i64,
    /// The longest answer.
    pub output: i64,
    /// The safety margin.
    pub safety_margin: i64,
    /// `model_context_window`.
    pub window: i64,
}

impl StepBudget {
    /// All five parts together.
    #[must_use]
    pub fn sum(&self) -> i64 {
        [self.fixed_prompt, self.history, self.context, self.output, self.safety_margin]
            .into_iter()
            .fold(0, i64::saturating_add)
    }

    /// What the window leaves; negative when the step does not fit.
    #[must_use]
    pub fn headroom(&self) -> i64 {
        self.window.saturating_sub(self.sum())
    }

    /// Whether the contract holds for this step.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.headroom() >= 0
    }
}

impl fmt::Display for StepBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} fixed + {} + {} + {} + {} = {} ",
            self.name,
            Grouped(self.fixed_prompt),
            Grouped(self.history),
            Grouped(self.context),
            Grouped(self.output),
            Grouped(self.safety_margin),
            Grouped(self.sum()),
        )?;
        let (window, headroom) = (Grouped(self.window), self.headroom());
        if headroom < 0 {
            write!(f, "> {window}, over by {}", Grouped(headroom.saturating_neg()))
        } else {
            write!(f, "<= {window}, {} to spare", Grouped(headroom))
        }
    }
}
