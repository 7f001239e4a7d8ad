//! The plan of one call, as reports show it.

use super::cache::{Broke, NewestFirst, Prices};
use super::planned::{Part, Planned};
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
    /// What newest-first trimming would have sent, where the plan is asked to
    /// [compare](crate::model::TurnPlan::compare).
    pub newest_first: Option<NewestFirst>,
    units: Vec<ReportedUnit>,
    same_recall: bool,
    written_up_to: Option<i64>,
    /// Tokens beside the conversation: tools and formats.
    fixed_tokens: i64,
    /// What was recalled, by identity of its texts.
    recalled: Vec<ContextItem>,
}

/// A candidate of the request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReportedUnit {
    pub(crate) item: ContextItem,
    pub(crate) part: Part,
    /// Hash of who says what in it, wherever it stands.
    pub(crate) key: u64,
    pub(crate) is_document: bool,
}

impl ReportedUnit {
    fn says_the_same(&self, other: &Self) -> bool {
        self.key == other.key && self.is_document == other.is_document
    }
}

impl TurnReport {
    pub(crate) fn new(planned: &Planned, excerpts: usize) -> Self {
        Self {
            whole: planned.whole,
            share: planned.share,
            recalled_tokens: 0,
            excerpts,
            cached_tokens: planned.expected.cached_tokens,
            new_tokens: 0,
            written_tokens: 0,
            broke: planned.expected.broke,
            window: 0,
            newest_first: planned.newest_first,
            units: Vec::new(),
            same_recall: planned.expected.same_recall,
            written_up_to: planned.expected.written_up_to,
            fixed_tokens: 0,
            recalled: Vec::new(),
        }
    }

    pub(crate) fn finish(
        mut self,
        sent: i64,
        fixed: i64,
        recalled_tokens: i64,
        recalled: Vec<ContextItem>,
    ) -> Self {
        self.fixed_tokens = fixed;
        self.recalled_tokens = recalled_tokens;
        self.recalled = recalled;
        if self.same_recall && self.broke.is_none() {
            self.cached_tokens = self.cached_tokens.saturating_add(recalled_tokens);
        }
        self.split(sent);
        self
    }

    /// Adds the candidates with their parts, for those who asked for a report, and the window.
    pub(crate) fn complete(&mut self, units: Vec<ReportedUnit>, window: i64) {
        self.units = units;
        self.window = window;
    }

    /// Says what of so many tokens is new, and what of that is taken up.
    fn split(&mut self, sent: i64) {
        self.cached_tokens = self.cached_tokens.clamp(0, sent.max(0));
        self.new_tokens = sent.saturating_sub(self.cached_tokens);
        let written = self.written_up_to.unwrap_or(sent).saturating_sub(self.cached_tokens);
        self.written_tokens = written.clamp(0, self.new_tokens.max(0));
    }

    /// What the input is expected to cost, in new tokens; [`NewestFirst::cost`] is what newest-first
    /// trimming would have.
    #[must_use]
    pub fn cost(&self, prices: Prices) -> f64 {
        prices.cost(self.cached_tokens, self.written_tokens, self.new_tokens)
    }

    /// The report with what is expected of a cache that has seen another call, for those who know
    /// which call came before.
    ///
    /// A plan knows nothing but its request: it takes the call before for the same one without its
    /// newest messages. Where a client has edited its history, cut it or gone back, that was another
    /// one, and [`Broke::Edited`] says so. What is compared is what the reports show: of messages
    /// whose adapter shows only their beginning, that and their size.
    #[must_use]
    pub fn following(mut self, before: &Self) -> Self {
        if self.broke == Some(Broke::Unknown) || self.units.is_empty() || before.units.is_empty() {
            return self;
        }
        let sent = self.cached_tokens.saturating_add(self.new_tokens);
        let (shared, whole) = self.shared_with(before);
        self.cached_tokens = if self.fixed_tokens == before.fixed_tokens { shared } else { 0 };
        self.broke = match self.broke {
            _ if !self.continues(before) => Some(Broke::Edited),
            // All that was sent then stands here, or all up to what was recalled.
            _ if whole => None,
            Some(Broke::First) | None => Some(Broke::GaveWay),
            broke => broke,
        };
        self.split(sent);
        self
    }

    /// Units of the request in its order: documents stand before the conversation.
    fn in_order(&self) -> (Vec<&ReportedUnit>, Vec<&ReportedUnit>) {
        self.units.iter().partition(|unit| unit.is_document)
    }

    /// Whether the conversation is that of another call, and goes on behind its end.
    fn continues(&self, before: &Self) -> bool {
        let ((_, now), (_, then)) = (self.in_order(), before.in_order());
        let same = now.iter().zip(&then).filter(|(now, then)| now.says_the_same(then));
        same.count() == then.len()
    }

    /// Tokens that stand at the beginning of both requests; and whether that is all of the other, up
    /// to what it had recalled.
    fn shared_with(&self, before: &Self) -> (i64, bool) {
        fn sent(report: &TurnReport) -> Vec<&ReportedUnit> {
            let (documents, conversation) = report.in_order();
            let all = documents.into_iter().chain(conversation);
            all.filter(|unit| unit.part.is_sent()).collect()
        }
        let (now, then) = (sent(self), sent(before));
        let mut shared = self.fixed_tokens;
        let same_recall = self.recalled_tokens == before.recalled_tokens
            && self.recalled.len() == before.recalled.len()
            && self.recalled.iter().zip(&before.recalled).all(|(a, b)| a.content() == b.content());
        for (at, then) in then.into_iter().enumerate() {
            let same = now
                .get(at)
                .filter(|now| now.says_the_same(then) && now.item.tokens() == then.item.tokens());
            let Some(now) = same else { return (shared, false) };
            let asked = then.part == Part::Question || now.part == Part::Question;
            let recalls = self.recalled_tokens > 0 || before.recalled_tokens > 0;
            if asked && recalls {
                // What is recalled is the first part of the question.
                if !(same_recall && then.part == now.part) {
                    return (shared, true);
                }
                shared = shared.saturating_add(self.recalled_tokens);
            }
            shared = shared.saturating_add(then.item.tokens());
        }
        (shared, true)
    }

    /// The part of the plan that an item of the report was in; none for what sources gave.
    #[must_use]
    pub fn part_of(&self, item: &ContextItem) -> Option<Part> {
        let found = self.units.iter().find(|unit| ContextItem::same(&unit.item, item));
        found.map(|unit| unit.part)
    }

    /// Whether an item of the report is sent as a message of its own.
    pub(crate) fn is_sent(&self, item: &ContextItem) -> bool {
        self.part_of(item).is_some_and(Part::is_sent)
    }

    /// Every candidate of the request with its part, in the order of the conversation. Empty when
    /// nobody asked for a report.
    pub fn parts(&self) -> impl Iterator<Item = (&ContextItem, Part)> {
        self.units.iter().map(|unit| (&unit.item, unit.part))
    }
}
