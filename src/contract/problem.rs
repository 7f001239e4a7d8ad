//! Everything that can be wrong with a contract, all of it reported at once.

use std::fmt;

use super::step_budget::StepBudget;
use crate::error::ProblemList;

/// Place of a value: a key, and the file it belongs to if there is one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ContractPlace {
    /// The file, for contracts that were read from files.
    pub file: Option<String>,
    /// The key, with the keys around it: `settings.max_context_tokens`.
    pub key: String,
}

impl ContractPlace {
    pub(super) fn key(key: impl Into<String>) -> Self {
        Self { file: None, key: key.into() }
    }

    #[cfg(feature = "config")]
    pub(super) fn at(file: &str, path: impl fmt::Display) -> Self {
        Self { file: Some(file.to_owned()), key: path.to_string() }
    }
}

impl fmt::Display for ContractPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        f.write_str(&self.key)
    }
}

/// One thing that is wrong with a contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContractProblem {
    /// A required value is not there.
    #[error("{place} is missing, expected {expected}")]
    Missing {
        /// Place of the missing value.
        place: ContractPlace,
        /// Description of a valid value.
        expected: String,
    },

    /// A value is of the wrong type, out of range, or points nowhere.
    #[error("{place}: got {value}, expected {expected}")]
    Invalid {
        /// Place of the value.
        place: ContractPlace,
        /// The value.
        value: String,
        /// Description of a valid value.
        expected: String,
    },

    /// A key that is not read, and looks like one that would be.
    #[error("{place} is not read here; did you mean {suggestion}?")]
    MisspeltKey {
        /// Place of the key.
        place: ContractPlace,
        /// The key that would be read.
        suggestion: String,
    },

    /// A file cannot be read, or not as what it should be.
    #[error("{file}: {reason}")]
    File {
        /// The file.
        file: String,
        /// Why not.
        reason: String,
    },

    /// Files extend each other in a circle.
    #[error("{}: extends goes in a circle: {}", files.first().map_or("", String::as_str), files.join(" -> "))]
    ExtendsCycle {
        /// From the file that was asked for to the one that closes the circle.
        files: Vec<String>,
    },

    /// A step does not fit the model's window.
    #[error("{}{budget}", in_file(file.as_deref()))]
    OverWindow {
        /// The pipeline's file, if it came from one.
        file: Option<String>,
        /// The parts of the step.
        budget: StepBudget,
    },

    /// A step does not fit the window even with the least context and the shortest answer.
    #[error(
        "{}{budget}; not even a context and an answer of 1 token each would fit",
        in_file(file.as_deref())
    )]
    CannotClamp {
        /// The pipeline's file, if it came from one.
        file: Option<String>,
        /// The parts of the step, as they were before any clamp.
        budget: StepBudget,
    },

    /// A contract has no step of that name.
    #[error("no step is named {step:?}; {}", known_steps(known))]
    UnknownStep {
        /// The name that was asked for.
        step: String,
        /// The names of the contract's steps.
        known: Vec<String>,
    },
}

impl ContractProblem {
    pub(super) fn invalid(
        place: ContractPlace,
        value: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Invalid { place, value: value.into(), expected: expected.into() }
    }

    /// Returns `true` if this problem already explains why there is no value here.
    pub(super) fn explains(&self, place: &ContractPlace) -> bool {
        match self {
            Self::Invalid { place: wrong, .. } => wrong.key == place.key,
            Self::File { file, .. } => Some(file) == place.file.as_ref(),
            _ => false,
        }
    }
}

fn in_file(file: Option<&str>) -> String {
    file.map(|file| format!("{file}: ")).unwrap_or_default()
}

fn known_steps(known: &[String]) -> String {
    if known.is_empty() {
        "there are no steps that call the model".to_owned()
    } else {
        format!("there are {}", known.join(", "))
    }
}

/// Why a contract cannot be used: one or more problems.
///
/// Its text is the problem, or a count and one line for each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", ProblemList(problems))]
pub struct ContractError {
    problems: Vec<ContractProblem>,
}

impl ContractError {
    /// For problems that were found: at least one.
    #[cfg(feature = "config")]
    pub(super) fn of(problems: Vec<ContractProblem>) -> Self {
        Self { problems }
    }

    /// An error if there is any problem.
    pub(super) fn check(problems: Vec<ContractProblem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }

    /// Every problem that was found, in the order of the files and steps.
    pub fn problems(&self) -> &[ContractProblem] {
        &self.problems
    }
}

impl From<ContractProblem> for ContractError {
    fn from(problem: ContractProblem) -> Self {
        Self { problems: vec![problem] }
    }
}
