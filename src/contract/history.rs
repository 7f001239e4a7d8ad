//! Trimming the chat history to its budget, from the oldest entry.

use crate::names::Grouped;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::BuildHasher;

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
/// A unit goes as a whole with its oldest entry, wherever the others are, so it is never split. One pass: the time grows with the number of entries, whatever is dropped.
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
    // A negative count is no credit for the others.
    let tokens = |entry: &HistoryEntry<'_>| entry.tokens.max(0);
    let add = |sum: i64, tokens: i64| sum.saturating_add(tokens);
    let max_tokens = max_tokens.max(0);
    let total = entries.iter().map(tokens).fold(0, add);

    // Sums are exact in 128 bits, so what remains is too, however large the counts.
    let mut remaining: i128 = entries.iter().map(|entry| i128::from(tokens(entry))).sum();
    let unit_tokens = unit_tokens(entries);
    let mut gone = HashSet::new();
    let mut loose_until = 0;
    for (position, entry) in entries.iter().enumerate() {
        if remaining <= i128::from(max_tokens) {
            break;
        }
        loose_until = position + 1;
        remaining -= match entry.unit {
            None => i128::from(tokens(entry)),
            Some(unit) if gone.insert(unit) => unit_tokens.get(unit).copied().unwrap_or(0),
            Some(_) => 0,
        };
    }

    let is_dropped = |position: usize, entry: &HistoryEntry<'_>| match entry.unit {
        None => position < loose_until,
        Some(unit) => gone.contains(unit),
    };
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    let mut kept_tokens = 0;
    for (position, entry) in entries.iter().enumerate() {
        if is_dropped(position, entry) {
            dropped.push(position);
        } else {
            kept.push(position);
            kept_tokens = add(kept_tokens, tokens(entry));
        }
    }
    let dropped_tokens = total.saturating_sub(kept_tokens);
    TrimmedHistory { kept, dropped, kept_tokens, dropped_tokens, max_tokens }
}

fn unit_tokens<'a>(
    entries: &[HistoryEntry<'a>],
) -> HashMap<&'a str, i128, impl BuildHasher + use<>> {
    let mut sums = HashMap::with_hasher(foldhash::fast::RandomState::default());
    for (entry, unit) in entries.iter().filter_map(|entry| Some((entry, entry.unit?))) {
        *sums.entry(unit).or_insert(0) += i128::from(entry.tokens.max(0));
    }
    sums
}

impl fmt::Display for TrimmedHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "history: kept {} of {} entries, {} of {} tokens (at most {})",
            self.kept.len(),
            self.kept.len() + self.dropped.len(),
            Grouped(self.kept_tokens),
            Grouped(self.kept_tokens.saturating_add(self.dropped_tokens)),
            Grouped(self.max_tokens),
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
