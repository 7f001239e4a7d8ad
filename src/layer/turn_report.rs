//! What a plan did with one call.

use crate::conversation::plan::{Broke, Part, Planned};
use crate::model::ContextItem;

/// The plan of one call: how it was cut, what was recalled, and what a prompt cache may know of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TurnReport {
    /// Whether the conversation was sent as it came.
    pub whole: bool,
    /// Tokens kept for what is recalled; 0 when there was no room.
    pub share: i64,
    /// Tokens of what was recalled, with the frame around it.
    pub recalled_tokens: i64,
    /// How many tool results were sent as excerpts.
    pub excerpts: usize,
    /// Tokens expected to be read from a prompt cache, if the call before was this one without its
    /// newest messages and is still remembered: an upper bound.
    pub cached_tokens: i64,
    /// Tokens that are new to it: all others that are sent.
    pub new_tokens: i64,
    /// Of the new ones, those that it is expected to take up for the next call. Some providers
    /// charge more for these.
    pub written_tokens: i64,
    /// Why the request does not begin as the one before did; none when it does.
    pub broke: Option<Broke>,
    /// The model's window.
    pub window: i64,
    parts: Vec<(ContextItem, Part)>,
    same_recall: bool,
    written_up_to: Option<i64>,
}

impl TurnReport {
    pub(super) fn new(planned: &Planned, parts: Vec<(ContextItem, Part)>, window: i64) -> Self {
        Self {
            whole: planned.whole,
            share: planned.share,
            recalled_tokens: 0,
            excerpts: planned.excerpts.len(),
            cached_tokens: planned.expected.cached_tokens,
            new_tokens: 0,
            written_tokens: 0,
            broke: planned.expected.broke,
            window,
            parts,
            same_recall: planned.expected.same_recall,
            written_up_to: planned.expected.written_up_to,
        }
    }

    pub(super) fn finish(mut self, sent: i64, recalled: i64) -> Self {
        self.recalled_tokens = recalled;
        if self.same_recall && self.broke.is_none() {
            self.cached_tokens = self.cached_tokens.saturating_add(recalled);
        }
        self.cached_tokens = self.cached_tokens.clamp(0, sent.max(0));
        self.new_tokens = sent.saturating_sub(self.cached_tokens);
        let written = self.written_up_to.unwrap_or(sent).saturating_sub(self.cached_tokens);
        self.written_tokens = written.clamp(0, self.new_tokens.max(0));
        self
    }

    /// The part of the plan that an item of the report was in; none for what sources gave.
    #[must_use]
    pub fn part_of(&self, item: &ContextItem) -> Option<Part> {
        let found = self.parts.iter().find(|(known, _)| ContextItem::same(known, item));
        found.map(|(_, part)| *part)
    }

    /// Whether an item of the report is sent as a message of its own.
    pub(super) fn is_sent(&self, item: &ContextItem) -> bool {
        self.part_of(item).is_some_and(Part::is_sent)
    }

    /// Every candidate of the request with its part, in the order of the conversation. Empty when
    /// nobody asked for a report.
    pub fn parts(&self) -> impl Iterator<Item = (&ContextItem, Part)> {
        self.parts.iter().map(|(item, part)| (item, *part))
    }
}
