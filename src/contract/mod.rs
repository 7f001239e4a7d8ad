//! The budget contract: a request can never outgrow its model's window.
//!
//! For every step that calls the model,
//!
//! ```text
//! fixed_prompt + max_history + max_context + max_output + safety_margin <= model_context_window
//! ```
//!
//! is checked before any request is made. A step that passed gives the budgets to select by.
//!
//! ```
//! use cupel::ContextBudget;
//! use cupel::contract::{BudgetContract, GenerationStep, ModelLimits, PipelineSettings};
//! use cupel::tokens::HeuristicCounter;
//!
//! # fn main() -> Result<(), cupel::contract::ContractError> {
//! let contract = BudgetContract::new(ModelLimits::new(9_600), PipelineSettings::new(6_000))
//!     .step(GenerationStep::new("router").max_output_tokens(64))
//!     .step(
//!         GenerationStep::new("answer")
//!             .system_prompt("You answer from the evidence only.")
//!             .user_part("### Evidence:\n{}\n\n")
//!             .max_output_tokens(2_048),
//!     );
//! let checked = contract.check(&HeuristicCounter)?;
//! let budget = ContextBudget::from(checked.step("answer")?);
//! assert_eq!(budget.output_reserve(), 2_048);
//!
//! // Every violation is reported, with its arithmetic.
//! let greedy = contract.step(GenerationStep::new("summary").max_output_tokens(4_096));
//! assert_eq!(
//!     greedy.check(&HeuristicCounter).unwrap_err().to_string(),
//!     "summary: 7 fixed + 0 + 6,000 + 4,096 + 128 = 10,231 > 9,600, over by 631",
//! );
//! # Ok(())
//! # }
//! ```
//!
//! The policy is [`LimitsPolicy::FailFast`] unless [`LimitsPolicy::AutoClamp`] is asked for. With
//! feature `config`, contracts are read from a folder of files.

mod check;
mod history;
mod limits;
#[cfg(feature = "config")]
mod load;
mod problem;
mod step_budget;

pub use crate::tokens::FormatOverhead;
pub use check::{BudgetContract, CheckedContract, CheckedStep};
pub use history::{HistoryEntry, TrimmedHistory, trim_history};
pub use limits::{
    DEFAULT_SAFETY_MARGIN_TOKENS, GenerationStep, LimitsPolicy, MAX_TOKENS, ModelLimits,
    POLICY_VARIABLE, PipelineSettings,
};
#[cfg(feature = "config")]
pub use load::{ContractCache, ContractFolder};
pub use problem::{ContractError, ContractPlace, ContractProblem};
pub use step_budget::{Clamp, StepBudget};
