//! The check of a contract: before it, the limits; after it, the budgets of its steps.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

use super::history::{HistoryEntry, TrimmedHistory, trim_history};
use super::limits::{
    DEFAULT_SAFETY_MARGIN_TOKENS, GenerationStep, LimitsPolicy, MAX_TOKENS, ModelLimits,
    PipelineSettings,
};
use super::problem::{ContractError, ContractPlace, ContractProblem};
use super::step_budget::{Clamp, StepBudget, clamp};
use crate::config::Path;
use crate::model::ContextBudget;
use crate::names::GroupedNumber;
use crate::tokens::{FormatOverhead, TokenCounter};

/// The limits of a model, of a pipeline and of its steps, before they are checked.
///
/// See the [module's example](crate::contract).
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct BudgetContract {
    pub(super) model: ModelLimits,
    pub(super) settings: PipelineSettings,
    pub(super) steps: Vec<GenerationStep>,
    pub(super) policy: LimitsPolicy,
    pub(super) overhead: FormatOverhead,
    pub(super) origins: Origins,
    pub(super) notes: Vec<String>,
    pub(super) model_name: Option<String>,
    /// Problems of the files; reported together with everything else.
    pub(super) problems: Vec<ContractProblem>,
}

/// Files that the values came from, for messages.
#[derive(Debug, Clone, Default)]
pub(super) struct Origins {
    /// File of a missing model limit.
    pub(super) config: Option<String>,
    /// File of anything else that is missing.
    pub(super) pipeline: Option<String>,
    /// Files of values that came from elsewhere, by key.
    pub(super) keys: BTreeMap<String, String>,
}

impl Origins {
    pub(super) fn place(&self, key: impl Into<String>) -> ContractPlace {
        let key = key.into();
        let home = if key.starts_with("model_") { &self.config } else { &self.pipeline };
        ContractPlace { file: self.keys.get(&key).or(home.as_ref()).cloned(), key }
    }
}

impl BudgetContract {
    /// A contract without steps, under [`LimitsPolicy::FailFast`].
    pub fn new(model: ModelLimits, settings: PipelineSettings) -> Self {
        Self { model, settings, ..Self::default() }
    }

    /// Adds a step.
    pub fn step(mut self, step: GenerationStep) -> Self {
        self.steps.push(step);
        self
    }

    /// Sets what happens to steps that do not fit.
    pub fn policy(mut self, policy: LimitsPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets what the message format adds; that of chat completions unless set.
    pub fn format_overhead(mut self, overhead: FormatOverhead) -> Self {
        self.overhead = overhead;
        self
    }

    /// The model's name, if `config.json` has it. Use it to choose the token counter.
    pub fn model_name(&self) -> Option<&str> {
        self.model_name.as_deref()
    }

    /// The parts of every step, whether they fit or not.
    ///
    /// # Errors
    ///
    /// [`ContractError`] with every value that is missing or not valid.
    pub fn measure<C: TokenCounter + ?Sized>(
        &self,
        counter: &C,
    ) -> Result<Vec<StepBudget>, ContractError> {
        let (budgets, problems) = self.read(counter);
        ContractError::check(problems)?;
        Ok(budgets)
    }

    /// Checks that every step fits the model's window.
    ///
    /// # Errors
    ///
    /// [`ContractError`] with every value that is missing or not valid, whatever the policy, and
    /// with every step that does not fit: under [`LimitsPolicy::FailFast`] as it is, under
    /// [`LimitsPolicy::AutoClamp`] by no clamp.
    pub fn check<C: TokenCounter + ?Sized>(
        &self,
        counter: &C,
    ) -> Result<CheckedContract, ContractError> {
        let (mut budgets, mut problems) = self.read(counter);
        let mut clamps = Vec::new();
        let file = || self.origins.pipeline.clone();
        match self.policy {
            LimitsPolicy::FailFast => {
                let over = budgets.iter().filter(|budget| !budget.fits()).cloned();
                problems.extend(
                    over.map(|budget| ContractProblem::OverWindow { file: file(), budget }),
                );
            }
            // A clamp for a contract that fails anyway would only be logged in vain.
            LimitsPolicy::AutoClamp if problems.is_empty() => match clamp(&mut budgets) {
                Ok(made) => clamps = made,
                Err(lost) => problems.extend(
                    lost.into_iter()
                        .map(|budget| ContractProblem::CannotClamp { file: file(), budget }),
                ),
            },
            LimitsPolicy::AutoClamp => {}
        }
        ContractError::check(problems)?;
        let steps = budgets.into_iter().map(|budget| CheckedStep { budget }).collect();
        Ok(CheckedContract { steps, policy: self.policy, clamps, notes: self.notes.clone() })
    }

    /// The steps whose values are all valid, and what is wrong with the others.
    fn read<C: TokenCounter + ?Sized>(
        &self,
        counter: &C,
    ) -> (Vec<StepBudget>, Vec<ContractProblem>) {
        let mut reader = LimitReader { origins: &self.origins, problems: self.problems.clone() };
        let window = reader.required("model_context_window", self.model.context_window, 1);
        let fallback = reader.optional("model_max_tokens", self.model.max_tokens, 1);
        let settings = &self.settings;
        let context =
            reader.required("settings.max_context_tokens", settings.max_context_tokens, 1);
        let margin = reader
            .optional("settings.budget_safety_margin_tokens", settings.safety_margin_tokens, 0)
            .map(|margin| margin.unwrap_or(DEFAULT_SAFETY_MARGIN_TOKENS));
        let history = reader.history(&self.steps, settings.max_history_tokens);
        reader.names(&self.steps);

        let mut budgets = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let output = reader.output(step, fallback);
            let history = if step.use_history { history } else { Ok(0) };
            if let (Ok(window), Ok(context), Ok(margin), Ok(history), Ok(output)) =
                (window, context, margin, history, output)
            {
                budgets.push(StepBudget {
                    name: Arc::clone(&step.name),
                    fixed_prompt: step.fixed_tokens(counter, self.overhead),
                    history,
                    context,
                    output,
                    safety_margin: margin,
                    window,
                });
            }
        }
        (budgets, reader.problems)
    }
}

/// A value that was missing or not valid, and has been reported.
#[derive(Debug, Clone, Copy)]
struct ReportedProblem;

/// Reads values and collects what is wrong with them.
struct LimitReader<'a> {
    origins: &'a Origins,
    problems: Vec<ContractProblem>,
}

impl LimitReader<'_> {
    /// A value that may be left out.
    fn optional(
        &mut self,
        key: &str,
        value: Option<i64>,
        least: i64,
    ) -> Result<Option<i64>, ReportedProblem> {
        let expected = match value {
            // A value that is there and could not be read is not missing as well.
            None if self.is_reported(key) => return Err(ReportedProblem),
            Some(value) if value > MAX_TOKENS => {
                format!("a whole number of at most {}", GroupedNumber(MAX_TOKENS))
            }
            Some(value) if value < least => at_least(least),
            valid => return Ok(valid),
        };
        self.invalid(key, value.unwrap_or_default().to_string(), expected);
        Err(ReportedProblem)
    }

    fn required(
        &mut self,
        key: &str,
        value: Option<i64>,
        least: i64,
    ) -> Result<i64, ReportedProblem> {
        self.optional(key, value, least)?.ok_or_else(|| self.missing(key, at_least(least)))
    }

    fn invalid(&mut self, key: &str, value: String, expected: impl Into<String>) {
        let place = self.origins.place(key);
        self.problems.push(ContractProblem::invalid(place, value, expected));
    }

    fn missing(&mut self, key: &str, expected: String) -> ReportedProblem {
        let place = self.origins.place(key);
        self.problems.push(ContractProblem::Missing { place, expected });
        ReportedProblem
    }

    fn is_reported(&self, key: &str) -> bool {
        let place = self.origins.place(key);
        self.problems.iter().any(|problem| problem.explains(&place))
    }

    /// The history budget, which only steps that use the history require.
    fn history(
        &mut self,
        steps: &[GenerationStep],
        value: Option<i64>,
    ) -> Result<i64, ReportedProblem> {
        const KEY: &str = "settings.max_history_tokens";
        let users: Vec<&str> =
            steps.iter().filter(|step| step.use_history).map(|step| &*step.name).collect();
        match self.optional(KEY, value, 0)? {
            Some(tokens) => Ok(tokens),
            None if users.is_empty() => Ok(0),
            None => {
                let why = format!("because use_history is true in {}", users.join(", "));
                Err(self.missing(KEY, format!("{}, {why}", at_least(0))))
            }
        }
    }

    /// The longest answer: the step's `max_output_tokens`, its `max_tokens`, or the model's.
    fn output(
        &mut self,
        step: &GenerationStep,
        fallback: Result<Option<i64>, ReportedProblem>,
    ) -> Result<i64, ReportedProblem> {
        let key = |key: &str| Path::Root.key("steps").key(&step.name).key(key).to_string();
        // A value that is not used must still be valid.
        let own = self.optional(&key("max_output_tokens"), step.max_output_tokens, 1);
        let short = self.optional(&key("max_tokens"), step.max_tokens, 1);
        if let Some(tokens) = own?.or(short?) {
            return Ok(tokens);
        }
        fallback?.ok_or_else(|| {
            let elsewhere = "here, as max_tokens, or as model_max_tokens for all steps";
            self.missing(&key("max_output_tokens"), format!("{}, {elsewhere}", at_least(1)))
        })
    }

    fn names(&mut self, steps: &[GenerationStep]) {
        let mut seen = HashSet::new();
        for step in steps {
            let twice = !seen.insert(&step.name);
            if twice || step.name.is_empty() {
                let value =
                    format!("a step named {:?}{}", step.name, if twice { " twice" } else { "" });
                self.invalid("steps", value, "a name of its own for each step");
            }
        }
    }
}

fn at_least(least: i64) -> String {
    format!("a whole number of at least {least}")
}

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
    pub fn steps(&self) -> &[CheckedStep] {
        &self.steps
    }

    /// The policy the contract was checked under.
    pub fn policy(&self) -> LimitsPolicy {
        self.policy
    }

    /// Limits that were made smaller so that the contract holds.
    pub fn clamps(&self) -> &[Clamp] {
        &self.clamps
    }

    /// Remarks on the files, such as keys that were not read.
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
    pub fn name(&self) -> &str {
        &self.budget.name
    }

    /// The parts, their sum and the headroom.
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
    pub fn request_budget(&self) -> ContextBudget {
        let StepBudget { fixed_prompt, history, context, .. } = self.budget;
        let target = fixed_prompt.saturating_add(history).saturating_add(context);
        let max = self.budget.window.saturating_sub(self.budget.safety_margin);
        ContextBudget::trusted(max, target, self.budget.output)
    }

    /// Budget for a selection among retrieved context only, without the fixed prompt and the history.
    pub fn context_budget(&self) -> ContextBudget {
        self.part_budget(self.budget.context)
    }

    /// For a selection among the chat history only; 0 tokens if the step does not use it.
    pub fn history_budget(&self) -> ContextBudget {
        self.part_budget(self.budget.history)
    }

    /// Ceiling and target are the part itself, so not even pinned items can take from another.
    fn part_budget(&self, tokens: i64) -> ContextBudget {
        let output = self.budget.output;
        ContextBudget::trusted(tokens.saturating_add(output), tokens, output)
    }

    /// Entries of the history that the step may send. Takes the oldest first; see [`trim_history`].
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
