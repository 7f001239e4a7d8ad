//! Errors of a layer: of building it, of its calls, and of the wrapped service.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::BudgetOrigin;
use crate::error::CupelError;
use crate::gather::work_place::NotRun;
use crate::gather::{BoxError, GatherError, SourceOutcome};
use crate::model::ContextBudget;

/// A setting of the layer that is missing or contradicts another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("CupelLayer: {0}")]
pub struct BuildError(String);

impl BuildError {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

/// The error of a call through the layer. Nothing of the wrapped service's error is erased.
#[derive(Debug)]
pub enum Error<E> {
    /// The wrapped service failed.
    Inner(E),
    /// The context could not be selected; the wrapped service was not called.
    Context(ContextError),
}

impl<E> Error<E> {
    /// The wrapped service's own error, if that is what it was.
    pub fn into_inner(self) -> Option<E> {
        match self {
            Self::Inner(error) => Some(error),
            Self::Context(_) => None,
        }
    }

    /// Why the context could not be selected, if that is what it was.
    pub fn context(&self) -> Option<&ContextError> {
        match self {
            Self::Inner(_) => None,
            Self::Context(error) => Some(error),
        }
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inner(error) => error.fmt(f),
            Self::Context(error) => error.fmt(f),
        }
    }
}

// Without a bound on `std::error::Error`, so that services whose error is a boxed one (buffers,
// time-outs) can be wrapped as well. Rust has no way to ask for either of the two.
impl<E: fmt::Debug + fmt::Display + 'static> std::error::Error for Error<E> {
    /// The wrapped service's error where it is a boxed one, as that of most stacks; a service's own
    /// type speaks for itself through `Display` and [`into_inner`](Error::into_inner).
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Inner(error) => {
                let boxed = (error as &dyn Any).downcast_ref::<tower::BoxError>()?;
                Some(&**boxed)
            }
            Self::Context(error) => std::error::Error::source(error),
        }
    }
}

impl<E> From<ContextError> for Error<E> {
    fn from(error: ContextError) -> Self {
        Self::Context(error)
    }
}

/// Why the context of a request could not be selected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// The budget could not be computed.
    #[error("the budget of the request is unknown: {0}")]
    Budget(#[source] BoxError),

    /// Parts that are sent in any case do not fit the budget.
    #[error(
        "instructions, tools and formats take {fixed_tokens} tokens, but {limits}, has \
         {available_tokens} for the request; shorten them, reserve less for the answer, or use a \
         larger window"
    )]
    FixedTokens {
        /// Tokens that are not up for selection.
        fixed_tokens: i64,
        /// `maxTokens - outputReserve`.
        available_tokens: i64,
        /// Origin of the budget.
        limits: Box<BudgetLimits>,
    },

    /// Messages that are always sent do not fit the budget: instructions, the last question, the newest
    /// results, and pinned items.
    #[error(
        "{error} of {limits}{}; {} shorten or unpin some of it, reserve less for the answer, or \
         use a larger window", RequestParts(.fixed_tokens), Largest(.largest)
    )]
    Pinned {
        /// [`CupelError::PinnedExceedsBudget`], with the numbers.
        error: CupelError,
        /// The largest of what is always sent, in words, with the tokens of each; at most three.
        largest: Vec<(String, i64)>,
        /// Tokens that are not up for selection and came off the budget before.
        fixed_tokens: i64,
        /// Origin of the budget.
        limits: Box<BudgetLimits>,
    },

    /// The adapter could not take the request apart or put it together.
    #[error("the request could not be adapted: {0}")]
    Adapter(#[source] BoxError),

    /// A required source failed or did not deliver in time.
    #[error("required source {name:?} {outcome}")]
    Source {
        /// The source's name.
        name: Arc<str>,
        /// Outcome of the source.
        outcome: SourceOutcome,
        /// The source's own error, where it gave one.
        #[source]
        cause: Option<BoxError>,
    },

    /// The pipeline refused the candidates or the budget.
    #[error(transparent)]
    Selection(#[from] CupelError),

    /// An adapter, budget, scorer, slicer or placer panicked. The next call works as usual.
    #[error("the selection panicked: {message}")]
    Panicked {
        /// The panic's message, if it had one.
        message: String,
    },

    /// A source had to be waited for, and there is no timer that would end the wait.
    #[error(
        "a source has to be waited for, but there is no timer for its deadline; make the call in a \
         Tokio runtime with timers (enable_time or enable_all)"
    )]
    NoTimer,

    /// The future was polled after it had given its answer.
    #[error("the call is over; its future must not be polled again")]
    Finished,
}

impl ContextError {
    /// The name of the error, for telemetry: its text may quote the request or a source.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Budget(_) => "Budget",
            Self::FixedTokens { .. } => "FixedTokens",
            Self::Adapter(_) => "Adapter",
            Self::Source { .. } => "Source",
            Self::Selection(error) | Self::Pinned { error, .. } => error.name(),
            Self::Panicked { .. } => "Panicked",
            Self::NoTimer => "NoTimer",
            Self::Finished => "Finished",
        }
    }
}

impl From<GatherError> for ContextError {
    fn from(error: GatherError) -> Self {
        match error {
            GatherError::Required { name, outcome, cause } => Self::Source { name, outcome, cause },
            GatherError::NoTimer => Self::NoTimer,
        }
    }
}

/// A budget and the labels of its limits, for error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetLimits {
    /// Tokens for the whole request and the answer.
    pub max_tokens: i64,
    /// Tokens of them that are kept for the answer.
    pub answer_tokens: i64,
    /// Labels of the window and of the output reserve.
    pub origin: BudgetOrigin,
}

impl BudgetLimits {
    pub(super) fn of(budget: &ContextBudget, origin: BudgetOrigin) -> Self {
        let (max_tokens, answer_tokens) = (budget.max_tokens(), budget.output_reserve());
        Self { max_tokens, answer_tokens, origin }
    }
}

impl fmt::Display for BudgetLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max_tokens, answer_tokens, origin } = self;
        let BudgetOrigin { window, answer, .. } = origin;
        write!(
            f,
            "the {window} of {max_tokens} tokens, {answer_tokens} of them kept for the answer \
             (set by {answer})"
        )
    }
}

/// Tokens sent beside the items, if any.
struct RequestParts<'a>(&'a i64);

impl fmt::Display for RequestParts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            tokens => write!(f, ", {tokens} taken by tools and formats"),
        }
    }
}

/// The largest of what does not fit, as a part of a sentence.
struct Largest<'a>(&'a [(String, i64)]);

impl fmt::Display for Largest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (what, tokens)) in self.0.iter().enumerate() {
            let before = if index == 0 { "the largest: " } else { ", " };
            write!(f, "{before}{what} ({tokens} tokens)")?;
        }
        f.write_str(if self.0.is_empty() { "" } else { ";" })
    }
}

impl From<NotRun> for ContextError {
    fn from(not_run: NotRun) -> Self {
        let message = match not_run {
            NotRun::Panicked(message) => message,
            other => other.to_string(),
        };
        Self::Panicked { message }
    }
}
