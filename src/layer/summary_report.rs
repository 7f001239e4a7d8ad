//! Report on the summaries of one call.

use std::fmt;

use crate::conversation::plan::PlacedSummary;
use crate::gather::SummaryLedger;

/// Report on the summaries of one call.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SummaryReport {
    /// Summaries that were sent, in the order of the conversation.
    pub placed: Vec<PlacedSummary>,
    /// Their tokens with the frame.
    pub tokens: i64,
    /// Number of cells before the cut that have no summary yet, of those that there is room for.
    pub missing: usize,
    /// Number of summaries that this call asked for in the background.
    pub asked: usize,
    /// Why the store gave nothing. None if it answered.
    pub lookup: Option<SummaryProblem>,
    /// Why summaries of this conversation were not made, one for each cell whose summary was tried here.
    pub problems: Vec<SummaryProblem>,
    /// Costs of the conversation before this call, in new input tokens of its model. Nothing is added up
    /// for a compactor that costs nothing.
    pub ledger: SummaryLedger,
}

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SummaryProblem {
    /// The deadline passed.
    Late,
    /// The compactor or the store failed.
    Failed {
        /// Error.
        error: String,
    },
    /// The compactor or the store panicked.
    Panicked {
        /// Message of the panic.
        message: String,
    },
    /// The compactor returned nothing but spaces.
    Empty,
    /// The compactor returned more tokens than the limit.
    TooLong,
    /// The budget of the conversation is used up.
    OverBudget,
    /// There is no Tokio runtime with timers.
    NoTimer,
}

impl SummaryProblem {
    /// The name in logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Failed { .. } => "failed",
            Self::Panicked { .. } => "panicked",
            Self::Empty => "empty",
            Self::TooLong => "too_long",
            Self::OverBudget => "over_budget",
            Self::NoTimer => "no_timer",
        }
    }
}

impl fmt::Display for SummaryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late => f.write_str("late"),
            Self::Failed { error } => write!(f, "failed: {error}"),
            Self::Panicked { message } => write!(f, "panicked: {message}"),
            Self::Empty => f.write_str("the summary is empty"),
            Self::TooLong => f.write_str("the summary is too long"),
            Self::OverBudget => f.write_str("the budget is used up"),
            Self::NoTimer => f.write_str("there is no Tokio runtime with timers"),
        }
    }
}

impl SummaryReport {
    /// One line for each fact that somebody may look for.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(problem) = &self.lookup {
            notes.push(format!("summaries: {problem}"));
        }
        if self.missing + self.asked > 0 {
            let Self { missing, asked, .. } = self;
            notes.push(format!("summaries: {missing} missing, {asked} asked for"));
        }
        notes.extend(self.problems.iter().map(|problem| format!("summary not made: {problem}")));
        let SummaryLedger { input_cost, spent } = self.ledger;
        if spent > 0.0 {
            notes.push(format!(
                "summaries have cost {spent:.0} input tokens, the conversation {input_cost:.0}"
            ));
        }
        notes
    }
}
