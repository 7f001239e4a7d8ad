//! The five parts of a step's budget, their sum and the line that shows it, and shrinking them until
//! a contract holds.

use std::fmt;
use std::sync::Arc;

use tracing::Level;

use crate::names::GroupedNumber;

/// Tokens that one step needs in the worst case, and the window it has to fit.
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
    pub fn sum(&self) -> i64 {
        [self.fixed_prompt, self.history, self.context, self.output, self.safety_margin]
            .into_iter()
            .fold(0, i64::saturating_add)
    }

    /// Tokens that are left in the window; negative if the step does not fit.
    pub fn headroom(&self) -> i64 {
        self.window.saturating_sub(self.sum())
    }

    /// Returns `true` if the contract holds for this step.
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
            GroupedNumber(self.fixed_prompt),
            GroupedNumber(self.history),
            GroupedNumber(self.context),
            GroupedNumber(self.output),
            GroupedNumber(self.safety_margin),
            GroupedNumber(self.sum()),
        )?;
        let (window, headroom) = (GroupedNumber(self.window), self.headroom());
        if headroom < 0 {
            write!(f, "> {window}, over by {}", GroupedNumber(headroom.saturating_neg()))
        } else {
            write!(f, "<= {window}, {} to spare", GroupedNumber(headroom))
        }
    }
}

/// One limit that was made smaller, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Clamp {
    /// The step whose answer was shortened; none for the pipeline's context.
    pub step: Option<Arc<str>>,
    /// The limit before.
    pub before: i64,
    /// The limit now.
    pub after: i64,
    /// The arithmetic that made it necessary.
    pub reason: String,
}

impl Clamp {
    /// The limit's key: `settings.max_context_tokens` or `steps.<name>.max_output_tokens`.
    pub fn key(&self) -> String {
        match &self.step {
            None => "settings.max_context_tokens".to_owned(),
            Some(step) => format!("steps.{step}.max_output_tokens"),
        }
    }

    fn log(&self) {
        tracing::event!(
            name: "cupel.contract.clamp",
            target: "cupel",
            Level::WARN,
            cupel.contract.limit = self.key(),
            cupel.contract.before = self.before,
            cupel.contract.after = self.after,
            cupel.contract.reason = self.reason,
            "{self}"
        );
    }
}

impl fmt::Display for Clamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = (GroupedNumber(self.before), GroupedNumber(self.after));
        write!(f, "{} clamped from {before} to {after}: {}", self.key(), self.reason)
    }
}

/// No clamp goes below this: a context must be positive, and an answer of no tokens is none.
const LEAST: i64 = 1;

/// Makes every step fit: the shared context by what the worst step is over, then each answer.
///
/// `Err` holds the steps that no clamp can save; then nothing is clamped.
pub(super) fn clamp(steps: &mut [StepBudget]) -> Result<Vec<Clamp>, Vec<StepBudget>> {
    let hopeless = |step: &&StepBudget| {
        step.sum().saturating_sub(step.context).saturating_sub(step.output)
            > step.window - 2 * LEAST
    };
    let lost: Vec<_> = steps.iter().filter(hopeless).cloned().collect();
    if !lost.is_empty() {
        return Err(lost);
    }
    let mut clamps = Vec::new();
    clamps.extend(clamp_context(steps));
    clamps.extend(steps.iter_mut().filter_map(clamp_output));
    clamps.iter().for_each(Clamp::log);
    Ok(clamps)
}

fn clamp_context(steps: &mut [StepBudget]) -> Option<Clamp> {
    let worst = steps.iter().min_by_key(|step| step.headroom()).filter(|step| !step.fits())?;
    let before = worst.context;
    let after = before.saturating_add(worst.headroom()).max(LEAST);
    let reason = worst.to_string();
    if after == before {
        return None;
    }
    for step in steps {
        step.context = after;
    }
    Some(Clamp { step: None, before, after, reason })
}

fn clamp_output(step: &mut StepBudget) -> Option<Clamp> {
    if step.fits() {
        return None;
    }
    let reason = step.to_string();
    let before = step.output;
    step.output = before.saturating_add(step.headroom());
    Some(Clamp { step: Some(Arc::clone(&step.name)), before, after: step.output, reason })
}
