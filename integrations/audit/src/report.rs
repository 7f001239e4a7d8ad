//! Result of an audit, as data.

use serde::Serialize;

use crate::files::SkippedLine;
use crate::repeats::RepeatKind;
use crate::tally::{CallTally, WayTally};

/// Result of an audit. It prints as a table, and [`page`](Self::page) gives the HTML file.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct AuditReport {
    /// Version of this crate.
    pub version: String,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of calls in them.
    pub calls: u64,
    /// Models of the sessions.
    pub models: Vec<AuditedModel>,
    /// Sums of sending everything, whatever the window.
    pub everything: CallTally,
    /// One entry for each window, in the order in which they were given.
    pub windows: Vec<WindowReport>,
    /// The largest parts of what is sent again and again, the largest first.
    pub waste: Vec<WasteEntry>,
    /// Lines that could not be read.
    pub skipped: Vec<SkippedLine>,
    /// Number of lines that could not be read; the list is limited.
    pub skipped_count: u64,
}

/// Model of some sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AuditedModel {
    /// Name, as the sessions have it.
    pub name: String,
    /// Number of sessions.
    pub sessions: u64,
    /// Price that was used.
    pub price: Option<crate::InputPrice>,
}

/// Results in one window.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct WindowReport {
    /// Tokens of the window.
    pub window: i64,
    /// Number of calls whose whole request is larger.
    pub larger: u64,
    /// Sending everything, of the calls that fit.
    pub everything: CallTally,
    /// One entry for each preset.
    pub ways: Vec<WayReport>,
    /// Newest-first trimming.
    pub newest_first: WayReport,
}

/// Results of one preset in one window.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct WayReport {
    /// Name of the preset.
    pub name: String,
    /// Sums.
    pub tally: WayTally,
    /// Calls with values that exist only in what was cut; the list is limited.
    pub regrets: Vec<RegretEntry>,
    /// Repeats of what would have been cut; the list is limited.
    pub repeats: Vec<RepeatEntry>,
    /// Reasons why calls could not be fitted, the most frequent first.
    pub unfitted: Vec<UnfittedEntry>,
    /// Sums by the number of the call in its session: the chart of the page.
    pub turns: Vec<TurnPoint>,
}

/// A value that the next call used and that exists only in what was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RegretEntry {
    /// Place of the session.
    pub place: String,
    /// Number of the call in its session, from 1.
    pub turn: usize,
    /// Tool that was called.
    pub tool: String,
    /// The value.
    pub value: String,
}

/// A repeat of something that would have been cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepeatEntry {
    /// Place of the session.
    pub place: String,
    /// Number of the call in its session, from 1.
    pub turn: usize,
    /// Kind of the repeat.
    pub kind: RepeatKind,
    /// Tool that was called again, or the user's words.
    pub what: String,
}

/// Calls that could not be fitted for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnfittedEntry {
    /// Reason, as the library gives it.
    pub why: String,
    /// Number of calls.
    pub calls: u64,
    /// First place: the session.
    pub place: String,
    /// First place: the number of the call, from 1.
    pub turn: usize,
}

/// Sums over the calls that have the same number in their sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TurnPoint {
    /// Tokens sent.
    pub tokens: i64,
    /// Tokens that the cache would have read.
    pub cached: i64,
}

/// Part of requests that is sent again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WasteEntry {
    /// Kind of the part.
    pub kind: WasteKind,
    /// Name of the tool whose result it is.
    pub tool: Option<String>,
    /// Place of the first session that has it.
    pub place: String,
    /// Number of sessions that have it. Results of tools are not compared.
    pub sessions: u64,
    /// Tokens of the part.
    pub tokens: i64,
    /// Number of calls that had it, when everything is sent.
    pub calls: u64,
    /// Beginning of its text.
    pub text: String,
}

impl WasteEntry {
    /// Tokens over all calls.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.tokens.saturating_mul(i64::try_from(self.calls).unwrap_or(i64::MAX))
    }
}

/// Kind of a part that is sent again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WasteKind {
    /// Definitions of tools.
    Tools,
    /// The system prompt.
    System,
    /// One result of a tool.
    Result,
}
