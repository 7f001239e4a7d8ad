//! The error type of the synchronous core, and lists of invalid settings.

use std::fmt;

use crate::model::ContextKind;

/// Everything that can go wrong while building or running a selection.
///
/// Each message names what was wrong, the value that was given, and what would be valid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CupelError {
    /// A [`ContextItem`](crate::ContextItem), [`ContextKind`] or
    /// [`ContextSource`](crate::ContextSource) field holds a value that is not allowed.
    #[error("invalid {field}: {problem}")]
    InvalidItem {
        /// The field, as the specification spells it.
        field: &'static str,
        /// The value that was given and what would be valid.
        problem: String,
    },

    /// A [`ContextBudget`](crate::ContextBudget) breaks one of the validation rules.
    #[error("invalid budget: {field} {problem}")]
    InvalidBudget {
        /// The field, as the specification spells it.
        field: String,
        /// The value that was given and what would be valid.
        problem: String,
    },

    /// A scorer was configured with values it cannot work with.
    #[error("scorer configuration: {0}")]
    ScorerConfig(ConfigError),

    /// A scorer is part of its own dependency graph.
    #[error(
        "scorer configuration: cycle detected: {scorer} appears in its own dependency graph; \
         build the scorers as a tree"
    )]
    ScorerCycle {
        /// Name of the scorer that closes the cycle.
        scorer: String,
    },

    /// A slicer was configured with values it cannot work with.
    #[error("slicer configuration: {0}")]
    SlicerConfig(ConfigError),

    /// A pipeline, policy or analysis was asked for something it cannot do.
    #[error("{0}")]
    PipelineConfig(String),

    /// The pinned items alone do not fit the model's window.
    #[error(
        "Pinned items require {pinned_tokens} tokens, but only {available_tokens} are available"
    )]
    PinnedExceedsBudget {
        /// Tokens of all pinned items together.
        pinned_tokens: i64,
        /// `maxTokens - outputReserve`.
        available_tokens: i64,
    },

    /// Pinned and sliced items together exceed the target under
    /// [`OverflowStrategy::Throw`](crate::OverflowStrategy::Throw).
    #[error(
        "Selected items require {merged_tokens} tokens, exceeding target budget of {target_tokens}"
    )]
    Overflow {
        /// Tokens of the merged selection.
        merged_tokens: i64,
        /// The budget's target.
        target_tokens: i64,
    },

    /// The selection is within the target but above what the output reserve leaves of the window,
    /// under [`OverflowStrategy::Throw`](crate::OverflowStrategy::Throw).
    #[error(
        "Selected items require {merged_tokens} tokens, but the output reserve leaves only \
         {available_tokens}"
    )]
    CeilingExceeded {
        /// Tokens of the merged selection.
        merged_tokens: i64,
        /// `maxTokens - outputReserve`.
        available_tokens: i64,
    },

    /// The knapsack table would be larger than the guard allows.
    #[error(
        "knapsack table too large: {candidates} candidates x {capacity} capacity = {cells} cells, \
         at most {limit} are allowed; use a larger bucket size, a smaller budget or GreedySlice"
    )]
    TableTooLarge {
        /// Items with at least one token.
        candidates: usize,
        /// The budget in buckets.
        capacity: u64,
        /// `candidates * capacity`.
        cells: u64,
        /// The largest number of cells allowed.
        limit: u64,
    },

    /// A count requirement cannot be met under
    /// [`ScarcityBehavior::Throw`](crate::slicer::ScarcityBehavior::Throw).
    #[error(
        "{slicer}: candidate pool for kind '{kind}' has {available} items but RequireCount is {required}."
    )]
    CountRequirementUnmet {
        /// The slicer that refused.
        slicer: &'static str,
        /// The kind that is short.
        kind: ContextKind,
        /// Number of candidates.
        available: usize,
        /// Number that the configuration requires.
        required: usize,
    },

    /// Required items do not fit the budget they may be taken from, under
    /// [`ScarcityBehavior::Throw`](crate::slicer::ScarcityBehavior::Throw).
    #[error(
        "{slicer}: {fitting} of {required} required items of kind '{kind}' fit the budget of \
         {target_tokens} tokens; use a larger budget, a smaller requirement or \
         ScarcityBehavior::Degrade"
    )]
    CountRequirementDoesNotFit {
        /// The slicer that refused.
        slicer: &'static str,
        /// The kind that is short.
        kind: ContextKind,
        /// Number of items that fit.
        fitting: usize,
        /// Number that the configuration requires.
        required: usize,
        /// The effective target of the selection.
        target_tokens: i64,
    },

    /// A model whose encoding is not known; a guess would be a wrong count.
    #[error("no encoding is known for model {model:?}; known are {} and their variants", known.join(", "))]
    UnknownModel {
        /// The name that was given.
        model: String,
        /// The model families that are known.
        known: Vec<&'static str>,
    },

    /// A model whose encoding is known, but its vocabulary is not part of this program.
    #[error(
        "model {model:?} counts with {encoding}_base, whose vocabulary is not part of this program: turn on \
         feature `{encoding}` or `tiktoken` of tower-cupel, or use `counter_for_model`, which estimates"
    )]
    VocabularyNotBuiltIn {
        /// The name that was given.
        model: String,
        /// The feature that brings the vocabulary.
        encoding: &'static str,
    },

    /// A slicer or placer answered with indices that break its contract.
    #[error("{component} {problem}")]
    Contract {
        /// The slicer or placer, by name.
        component: String,
        /// Answer of the component, and the valid ones.
        problem: String,
    },
}

impl CupelError {
    /// The name of the error, for telemetry: its text may quote what a caller's component said.
    pub fn name(&self) -> &'static str {
        match self {
            Self::InvalidItem { .. } => "InvalidItem",
            Self::InvalidBudget { .. } => "InvalidBudget",
            Self::ScorerConfig(_) => "ScorerConfig",
            Self::ScorerCycle { .. } => "ScorerCycle",
            Self::SlicerConfig(_) => "SlicerConfig",
            Self::PipelineConfig(_) => "PipelineConfig",
            Self::PinnedExceedsBudget { .. } => "PinnedExceedsBudget",
            Self::Overflow { .. } => "Overflow",
            Self::CeilingExceeded { .. } => "CeilingExceeded",
            Self::TableTooLarge { .. } => "TableTooLarge",
            Self::CountRequirementUnmet { .. } => "CountRequirementUnmet",
            Self::CountRequirementDoesNotFit { .. } => "CountRequirementDoesNotFit",
            Self::UnknownModel { .. } => "UnknownModel",
            Self::VocabularyNotBuiltIn { .. } => "VocabularyNotBuiltIn",
            Self::Contract { .. } => "Contract",
        }
    }

    pub(crate) fn budget(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::InvalidBudget { field: field.into(), problem: problem.into() }
    }

    pub(crate) fn out_of_range(component: &str, index: usize, len: usize) -> Self {
        let valid = match len.checked_sub(1) {
            Some(last) => format!("0 to {last} are valid"),
            None => "there were no items".to_owned(),
        };
        Self::contract(component, format!("answered with position {index}, but {valid}"))
    }

    pub(crate) fn contract(component: &str, problem: String) -> Self {
        Self::Contract { component: component.to_owned(), problem }
    }
}

/// One setting that is wrong, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigProblem {
    /// The place, as a policy file spells it: `scorers[1].weight`. Empty for the whole.
    pub path: String,
    /// The value, and what would be valid.
    pub message: String,
}

impl ConfigProblem {
    pub(crate) fn new(path: impl fmt::Display, message: impl Into<String>) -> Self {
        Self { path: cut(&path.to_string(), 500), message: cut(&message.into(), 1_000) }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// Everything that is wrong with the settings of one component.
///
/// ```
/// use cupel::{ContextKind, CupelError};
/// use cupel::scorer::KindScorer;
///
/// let weights = [(ContextKind::document(), -1.0), (ContextKind::memory(), f64::NAN)];
/// let Err(CupelError::ScorerConfig(error)) = KindScorer::new(weights) else { panic!() };
/// assert_eq!((error.component(), error.problems().len()), ("KindScorer", 2));
/// assert_eq!(error.problems()[0].path, "weights.Document");
/// assert_eq!(error.problems()[0].message, "must be finite and at least 0, got -1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{component}: {}", ProblemList(problems))]
pub struct ConfigError {
    component: String,
    problems: Vec<ConfigProblem>,
}

impl ConfigError {
    /// One problem of a component: what scorers and slicers of your own answer with.
    pub fn new(
        component: impl Into<String>,
        path: impl fmt::Display,
        message: impl Into<String>,
    ) -> Self {
        Self::of(component, vec![ConfigProblem::new(path, message)])
    }

    pub(crate) fn of(component: impl Into<String>, problems: Vec<ConfigProblem>) -> Self {
        Self { component: component.into(), problems }
    }

    /// The component, by name.
    pub fn component(&self) -> &str {
        &self.component
    }

    /// Every problem, in the order of the settings.
    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }
}

/// Number of problems that are listed one by one.
const SHOWN: usize = 100;

/// One problem as it is, several below their number.
pub(crate) struct ProblemList<'a, T>(pub(crate) &'a [T]);

impl<T: fmt::Display> fmt::Display for ProblemList<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0 {
            return only.fmt(f);
        }
        write!(f, "{} problems:", self.0.len())?;
        self.0.iter().take(SHOWN).try_for_each(|problem| write!(f, "\n  {problem}"))?;
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

/// Splits a text behind its first `length` characters.
pub(crate) fn split_chars(text: &str, length: usize) -> (&str, &str) {
    let end = text.char_indices().nth(length).map_or(text.len(), |(end, _)| end);
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// The first `length` characters of a text; an ellipsis says that there are more.
pub(crate) fn cut(text: &str, length: usize) -> String {
    let (start, rest) = split_chars(text, length);
    format!("{start}{}", if rest.is_empty() { "" } else { "…" })
}

/// A user's text in quotes, cut after 40 characters.
#[cfg(feature = "serde")]
pub(crate) struct QuotedText<'a>(pub(crate) &'a str);

#[cfg(feature = "serde")]
impl fmt::Display for QuotedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, rest) = split_chars(self.0, 40);
        write!(f, "{start:?}{}", if rest.is_empty() { "" } else { "…" })
    }
}
