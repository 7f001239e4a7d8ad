//! Trimming the chat history to its budget, from the oldest entry.

use std::collections::HashSet;
use std::fmt;

use foldhash::HashMap;

use crate::names::GroupedNumber;

/// One entry of the history, as trimming sees it.
///
/// Entries of one unit are kept or dropped together: an assistant message with tool calls and
/// the messages that answer them, for example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct HistoryEntry<'a> {
    tokens: i64,
    unit: Option<&'a str>,
}

impl<'a> HistoryEntry<'a> {
    /// An entry of so many tokens, that is a unit by itself.
    pub fn new(tokens: i64) -> Self {
        Self { tokens, unit: None }
    }

    /// An entry that is kept or dropped with every other entry of the unit.
    pub fn in_unit(tokens: i64, unit: &'a str) -> Self {
        Self { tokens, unit: Some(unit) }
    }
}

/// Entries that [`trim_history`] kept and dropped. Its text is a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrimmedHistory {
    /// Positions of the entries that stay, in order.
    pub kept: Vec<usize>,
    /// Positions of the entries that go, in order.
    pub dropped: Vec<usize>,
    /// Tokens of the entries that stay.
    pub kept_tokens: i64,
    /// Tokens of the entries that go.
    pub dropped_tokens: i64,
    /// The budget.
    pub max_tokens: i64,
}

/// Drops entries, the oldest first, until the rest fits `max_tokens`.
///
/// A unit goes as a whole with its oldest entry, wherever the others are, so it is never split. The
/// time grows with the number of entries.
///
/// ```
/// use cupel::contract::{HistoryEntry, trim_history};
///
/// let history = [
///     HistoryEntry::new(40),                  // a question
///     HistoryEntry::in_unit(30, "call_1"),   // a tool call
///     HistoryEntry::in_unit(200, "call_1"),  // its result
///     HistoryEntry::new(60),                  // the answer
/// ];
/// let trimmed = trim_history(&history, 270);
/// // Without the question 290 tokens are left: the call goes, and its result with it.
/// assert_eq!(trimmed.kept, [3]);
/// assert_eq!(
///     trimmed.to_string(),
///     "history: kept 1 of 4 entries, 60 of 330 tokens (at most 270); dropped 0-2",
/// );
/// ```
pub fn trim_history(entries: &[HistoryEntry<'_>], max_tokens: i64) -> TrimmedHistory {
    let max_tokens = max_tokens.max(0);
    // A negative count is no credit for the others. In 128 bits, every sum is exact.
    let tokens = |entry: &HistoryEntry<'_>| i128::from(entry.tokens.max(0));
    let mut unit_tokens: HashMap<&str, i128> = HashMap::default();
    for (entry, unit) in entries.iter().filter_map(|entry| Some((entry, entry.unit?))) {
        *unit_tokens.entry(unit).or_default() += tokens(entry);
    }
    let total: i128 = entries.iter().map(tokens).sum();
    let mut remaining = total;
    let mut gone = HashSet::new();
    let mut loose_until = 0;
    for (position, entry) in entries.iter().enumerate() {
        if remaining <= i128::from(max_tokens) {
            break;
        }
        loose_until = position + 1;
        remaining -= match entry.unit {
            None => tokens(entry),
            Some(unit) if gone.insert(unit) => unit_tokens.get(unit).copied().unwrap_or(0),
            Some(_) => 0,
        };
    }
    let is_kept = |position: &usize| match entries.get(*position).and_then(|entry| entry.unit) {
        None => *position >= loose_until,
        Some(unit) => !gone.contains(unit),
    };
    let (kept, dropped) = (0..entries.len()).partition(is_kept);
    let saturated = |tokens: i128| i64::try_from(tokens).unwrap_or(i64::MAX);
    let kept_tokens = saturated(remaining);
    let dropped_tokens = saturated(total).saturating_sub(kept_tokens);
    TrimmedHistory { kept, dropped, kept_tokens, dropped_tokens, max_tokens }
}

impl fmt::Display for TrimmedHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "history: kept {} of {} entries, {} of {} tokens (at most {})",
            self.kept.len(),
            self.kept.len() + self.dropped.len(),
            GroupedNumber(self.kept_tokens),
            GroupedNumber(self.kept_tokens.saturating_add(self.dropped_tokens)),
            GroupedNumber(self.max_tokens),
        )?;
        if self.dropped.is_empty() {
            return Ok(());
        }
        write!(f, "; dropped {}", ranges(&self.dropped))
    }
}

/// `0-2, 5` for 0, 1, 2, 5.
fn ranges(positions: &[usize]) -> String {
    let runs = positions.chunk_by(|a, b| a + 1 == *b);
    let texts: Vec<_> = runs
        .filter_map(|run| match run {
            [] => None,
            [one] => Some(one.to_string()),
            [first, .., last] => Some(format!("{first}-{last}")),
        })
        .collect();
    texts.join(", ")
}
