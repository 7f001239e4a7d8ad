//! A contract that holds, and the budgets its steps give to a selection.

use std::fmt;

use super::history::{HistoryEntry, TrimmedHistory, trim_history};
use super::parts::{Clamp, StepBudget};
use super::policy::LimitsPolicy;
use super::problem::{ContractError, ContractProblem};
use crate::model::ContextBudget;

/// A contract whose every step fits the model's window.
///
/// Its text has one line of arithmetic for each step, and one for each clamp and note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedContract {
    steps: Vec<CheckedStep>,
    policy: LimitsPolicy,
    clamps: Vec<Clamp>,
    notes: Vec<String>,
}

impl CheckedContract {
    /// For budgets that fit.
    pub(super) fn new(
        budgets: Vec<StepBudget>,
        policy: LimitsPolicy,
        clamps: Vec<Clamp>,
        notes: Vec<String>,
    ) -> Self {
        let steps = budgets.into_iter().map(|budget| CheckedStep { budget }).collect();
        Self { steps, policy, clamps, notes }
    }

    /// A copy of the step of that name, to select by or to give to a layer as its budget.
    ///
    /// # Errors
    ///
    /// [`ContractProblem::UnknownStep`], with the names there are.
    pub fn step(&self, name: &str) -> Result<CheckedStep, ContractError> {
        self.steps.iter().find(|step| &*step.budget.name == name).cloned().ok_or_else(|| {
            ContractError::from(ContractProblem::UnknownStep {
                step: name.to_owned(),
                known: self.steps.iter().map(|step| step.budget.name.to_string()).collect(),
            })
        })
    }

    /// Every step that calls the model, in the pipeline's order.
    #[must_use]
    pub fn steps(&self) -> &[CheckedStep] {
        &self.steps
    }

    /// The policy the contract was checked under.
    #[must_use]
    pub fn policy(&self) -> LimitsPolicy {
        self.policy
    }

    /// Limits that were made smaller so that the contract holds.
    #[must_use]
    pub fn clamps(&self) -> &[Clamp] {
        &self.clamps
    }

    /// Remarks on the files, such as keys that were not read.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl fmt::Display for CheckedContract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.steps.iter().map(|step| step.budget.to_string());
        let clamps = self.clamps.iter().map(|clamp| format!("warning: {clamp}"));
        let notes = self.notes.iter().map(|note| format!("note: {note}"));
        let lines: Vec<_> = steps.chain(clamps).chain(notes).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// A step that fits the model's window, and the budgets that keep it there.
///
/// ```
/// use cupel::contract::{BudgetContract, GenerationStep, ModelLimits, PipelineSettings};
/// use cupel::tokens::HeuristicCounter;
///
/// let settings = PipelineSettings::new(6_000).max_history_tokens(1_200);
/// let checked = BudgetContract::new(ModelLimits::new(9_600), settings)
///     .step(GenerationStep::new("answer").use_history(true).max_output_tokens(2_000))
///     .check(&HeuristicCounter)?;
/// let step = checked.step("answer")?;
/// // Retrieved context alone, the history alone, or everything a request holds.
/// assert_eq!(step.context_budget().target_tokens(), 6_000);
/// assert_eq!(step.history_budget().target_tokens(), 1_200);
/// assert_eq!(step.request_budget().target_tokens(), 7 + 1_200 + 6_000);
/// # Ok::<(), cupel::contract::ContractError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedStep {
    budget: StepBudget,
}

impl CheckedStep {
    /// The step's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.budget.name
    }

    /// The parts, their sum and the headroom.
    #[must_use]
    pub fn parts(&self) -> &StepBudget {
        &self.budget
    }

    /// For a selection among everything the request holds: the system prompt, the history, the
    /// retrieved context. This is the budget of a layer, and what the step converts into.
    ///
    /// The target is what the contract grants to these three. The ceiling is the window without
    /// the safety margin, so what a selection keeps, the answer and the margin always fit the
    /// window together; only [`OverflowStrategy::Proceed`](crate::OverflowStrategy::Proceed) with
    /// a slicer that ignores its budget can go beyond.
    #[must_use]
    pub fn request_budget(&self) -> ContextBudget {
        let StepBudget { fixed_prompt, history, context, .. } = self.budget;
        let target = fixed_prompt.saturating_add(history).saturating_add(context);
        let max = self.budget.window.saturating_sub(self.budget.safety_margin);
        ContextBudget::trusted(max, target, self.budget.output)
    }

    /// For a selection among retrieved context only; the fixed prompt and the history are spoken
    /// for.
    #[must_use]
    pub fn context_budget(&self) -> ContextBudget {
        self.part_budget(self.budget.context)
    }

    /// For a selection among the chat history only; 0 tokens if the step does not use it.
    #[must_use]
    pub fn history_budget(&self) -> ContextBudget {
        self.part_budget(self.budget.history)
    }

    /// Ceiling and target are the part itself, so not even pinned items can take from another.
    fn part_budget(&self, tokens: i64) -> ContextBudget {
        let output = self.budget.output;
        ContextBudget::trusted(tokens.saturating_add(output), tokens, output)
    }

    /// Entries of the history that the step may send. Takes the oldest first; see [`trim_history`].
    #[must_use]
    pub fn trim_history(&self, entries: &[HistoryEntry<'_>]) -> TrimmedHistory {
        trim_history(entries, self.budget.history)
    }
}

impl From<&CheckedStep> for ContextBudget {
    fn from(step: &CheckedStep) -> Self {
        step.request_budget()
    }
}

impl From<CheckedStep> for ContextBudget {
    fn from(step: CheckedStep) -> Self {
        step.request_budget()
    }
}

impl fmt::Display for CheckedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.budget.fmt(f)
    }
}
