//! What a plan did with one call.

use crate::conversation::bare_text;
use crate::conversation::plan::{Broke, NewestFirst, Part, Planned, Prices};
use crate::model::{ContextItem, ContextKind};

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
    parts: Vec<(ContextItem, Part)>,
    same_recall: bool,
    written_up_to: Option<i64>,
    /// Tokens beside the conversation: tools and formats.
    fixed_tokens: i64,
    /// What was recalled, by identity of its texts.
    recalled: Vec<ContextItem>,
}

/// Items of a request, each with the part of it that it stands in.
type Parts<'a> = Vec<&'a (ContextItem, Part)>;

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
            newest_first: planned.newest_first,
            parts,
            same_recall: planned.expected.same_recall,
            written_up_to: planned.expected.written_up_to,
            fixed_tokens: 0,
            recalled: Vec::new(),
        }
    }

    pub(super) fn finish(
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
        if self.broke == Some(Broke::Unknown) || self.parts.is_empty() || before.parts.is_empty() {
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

    /// What was sent of the request, or could have been, in its order: documents stand before the
    /// conversation.
    fn in_order(&self) -> (Parts<'_>, Parts<'_>) {
        self.parts.iter().partition(|(item, _)| *item.kind() == ContextKind::document())
    }

    /// Whether the conversation is that of another call, and goes on behind its end.
    fn continues(&self, before: &Self) -> bool {
        let ((_, now), (_, then)) = (self.in_order(), before.in_order());
        let same = now.iter().zip(&then).filter(|(now, then)| says_the_same(&now.0, &then.0));
        same.count() == then.len()
    }

    /// Tokens that stand at the beginning of both requests; and whether that is all of the other, up
    /// to what it had recalled.
    fn shared_with(&self, before: &Self) -> (i64, bool) {
        let sent = |report: &Self| {
            let (documents, conversation) = report.in_order();
            let all = documents.into_iter().chain(conversation);
            all.filter(|(_, part)| part.is_sent()).cloned().collect::<Vec<_>>()
        };
        let (now, then) = (sent(self), sent(before));
        let mut shared = self.fixed_tokens;
        let same_recall = self.recalled_tokens == before.recalled_tokens
            && self.recalled.len() == before.recalled.len()
            && self.recalled.iter().zip(&before.recalled).all(|(a, b)| a.content() == b.content());
        for (at, (item, part)) in then.iter().enumerate() {
            let same = now
                .get(at)
                .filter(|(other, _)| says_the_same(other, item) && other.tokens() == item.tokens());
            let Some((_, part_now)) = same else { return (shared, false) };
            let asked = *part == Part::Question || *part_now == Part::Question;
            let recalls = self.recalled_tokens > 0 || before.recalled_tokens > 0;
            if asked && recalls {
                // What is recalled is the first part of the question.
                if !(same_recall && part == part_now) {
                    return (shared, true);
                }
                shared = shared.saturating_add(self.recalled_tokens);
            }
            shared = shared.saturating_add(item.tokens());
        }
        (shared, true)
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

/// Whether two candidates are the same messages, wherever they stand.
fn says_the_same(one: &ContextItem, other: &ContextItem) -> bool {
    one.content() == other.content() || bare_text(one.content()) == bare_text(other.content())
}
