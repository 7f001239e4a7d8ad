//! Reports on the sources and the async judge of a call.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::BoxError;
use crate::caught::caught;
use crate::model::ContextItem;

/// Report on gathering, source by source.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct GatherReport {
    /// Time of the first poll of the sources; none if there are none.
    pub started_at: Option<SystemTime>,
    /// From the first poll to the last source's end, or to the deadline.
    pub elapsed: Duration,
    /// Why gathering ended.
    pub stopped: StopReason,
    /// One entry a source, in the order they were added.
    pub sources: Vec<SourceReport>,
    /// Report on the [async judge](crate::layer::WaitingJudge). `None` if it was not asked.
    pub judge: Option<JudgeReport>,
}

impl GatherReport {
    /// The entry of a source, by name.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<&SourceReport> {
        self.sources.iter().find(|source| &*source.name == name)
    }
}

/// Why gathering ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum StopReason {
    /// All sources had ended; also when there were none.
    #[default]
    AllEnded,
    /// The overall deadline passed.
    Deadline,
    /// Nothing that could still arrive would have changed the selection.
    Settled,
    /// A required source failed.
    Failed,
}

/// Report on one source.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SourceReport {
    /// The source's name.
    pub name: Arc<str>,
    /// Number of its items that became candidates.
    pub items: usize,
    /// Their tokens together; an item with a negative count adds none.
    pub tokens: i64,
    /// From the start of gathering to its end, or to the deadline that cut it off.
    pub elapsed: Duration,
    /// Outcome of the source.
    pub outcome: SourceOutcome,
    /// `true` if an item broke a promise of the source about its items.
    pub broke_promise: bool,
    /// Pinned items of an optional source that did not fit the budget and lost their pin. They
    /// competed like items without one.
    pub pins_lifted: usize,
}

impl SourceReport {
    pub(super) fn new(name: Arc<str>) -> Self {
        Self { name, ..Self::default() }
    }

    pub(super) fn count(&mut self, items: &[ContextItem]) {
        self.items += items.len();
        self.tokens =
            items.iter().fold(self.tokens, |sum, item| sum.saturating_add(item.tokens().max(0)));
    }
}

/// Report on a judge that was asked beside the sources.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct JudgeReport {
    /// The judge's name.
    pub name: Arc<str>,
    /// Number of texts that it was asked about.
    pub texts: usize,
    /// Number of texts with its answer in their hint. The others have that of the policy's judge.
    pub judged: usize,
    /// Requests to its model, if it counts them.
    pub requests: usize,
    /// Texts, or pieces of texts, that it knew without asking its model, if it counts them.
    pub cached: usize,
    /// True if the answers are those of an earlier call of the same exchange, so that the recalled part
    /// stays as it was. The judge was not asked again.
    pub reused: bool,
    /// Time at which it was asked first; none if it was not.
    pub started_at: Option<SystemTime>,
    /// From when it was asked first to its last answer, or to what ended the wait.
    pub elapsed: Duration,
    /// Outcome of the judge. A wrong answer is a failure, too.
    pub outcome: SourceOutcome,
}

impl JudgeReport {
    pub(crate) fn new(name: &str) -> Self {
        let outcome = SourceOutcome::Completed;
        Self { name: name.into(), outcome, ..Self::default() }
    }

    /// Report on a judge that was not asked, because an earlier call of the exchange has its answers.
    pub(crate) fn not_asked(name: &str) -> Self {
        let outcome = SourceOutcome::NotNeeded;
        Self { name: name.into(), outcome, ..Self::default() }
    }
}

/// Outcome of a source. "Nothing found" is [`Completed`](Self::Completed) with no items, which is
/// not the same as [`TimedOut`](Self::TimedOut) with none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceOutcome {
    /// The stream ended by itself.
    Completed,
    /// The source's own deadline or the overall one passed; what had arrived was kept.
    TimedOut,
    /// The item limit was reached; the rest was not asked for.
    LimitReached,
    /// The stream yielded an error.
    Failed {
        /// The error's text.
        error: String,
    },
    /// The source panicked.
    Panicked {
        /// The panic's message, if it had one.
        message: String,
    },
    /// Nothing it could still yield would have changed the selection, so it was not waited for.
    NotNeeded,
    /// The call ended before the source did, because another source failed it.
    #[default]
    Abandoned,
}

impl SourceOutcome {
    /// The outcome of an error. Its text is the user's own code, which may panic.
    pub(super) fn of_error(error: &BoxError) -> Self {
        match caught(|| error.to_string()) {
            Ok(error) => Self::Failed { error },
            Err(message) => Self::Panicked { message },
        }
    }

    /// The error's text, or the name of the outcome.
    pub(super) fn message(self) -> String {
        match self {
            Self::Failed { error } => error,
            other => other.name().to_owned(),
        }
    }

    /// A short name of bounded variety, for logs and metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::TimedOut => "timed_out",
            Self::LimitReached => "limit_reached",
            Self::Failed { .. } => "failed",
            Self::Panicked { .. } => "panicked",
            Self::NotNeeded => "not_needed",
            Self::Abandoned => "abandoned",
        }
    }

    /// Returns true if a required source that ends this way fails the call.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        *self == Self::TimedOut || self.is_error()
    }

    /// Returns true if the source did something wrong, rather than take too long.
    pub(crate) fn is_error(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::Panicked { .. })
    }
}

impl fmt::Display for SourceOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { error } => write!(f, "failed: {error}"),
            Self::Panicked { message } => write!(f, "panicked: {message}"),
            Self::TimedOut => f.write_str("timed out"),
            Self::LimitReached => f.write_str("reached its limit"),
            Self::NotNeeded => f.write_str("was not needed"),
            Self::Completed | Self::Abandoned => f.write_str(self.name()),
        }
    }
}

/// Numbers of items that arrived and that were left out, for a selection made while gathering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StreamReport {
    /// Number of candidates that arrived, the request's own among them.
    pub arrived: usize,
    /// Numbers of candidates left out, by reason; the report lists the best of them.
    pub dropped: DroppedCounts,
}

/// Numbers of items that a selection made while gathering left out, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DroppedCounts {
    /// Items that did not fit the budget.
    pub over_budget: usize,
    /// Items with the content of another one that scored better.
    pub duplicates: usize,
    /// Items with a negative token count.
    pub negative_tokens: usize,
}
