//! A planned turn: the part of each candidate, and the excerpts.

use std::collections::BTreeMap;

use super::cache::{Expected, NewestFirst};
use super::excerpt::Excerpt;
use crate::caught::caught;
use crate::relevance::{Candidate, Hint, Verdict};

/// The part of a plan that a candidate is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Part {
    /// Instructions, and what the caller has pinned: sent where it stands.
    Head,
    /// The older part of the tail, whose long results are shorter excerpts.
    Faded,
    /// The newest of what is over, without holes.
    Tail,
    /// The message the user replies to, kept beyond the cut.
    Replied,
    /// The opening of an exchange whose older steps are gone, kept because the API wants the user first,
    /// or because the steps that are left need it.
    Opening,
    /// Before the cut: competes for a place among what is recalled.
    Earlier,
    /// The user's last message.
    Question,
    /// The steps of the model since then; all of a history in which no user has asked anything.
    Exchange,
    /// Steps of the exchange that no longer fit.
    Dropped,
}

impl Part {
    /// Returns true if candidates in this part are sent as messages of their own.
    #[must_use]
    pub fn is_sent(self) -> bool {
        !matches!(self, Self::Earlier | Self::Dropped)
    }

    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Faded => "faded",
            Self::Tail => "tail",
            Self::Replied => "replied",
            Self::Opening => "opening",
            Self::Earlier => "earlier",
            Self::Question => "question",
            Self::Exchange => "exchange",
            Self::Dropped => "dropped",
        }
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A planned turn.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Planned {
    /// The part of each candidate, in their order: units of messages, then documents.
    pub parts: Vec<Part>,
    /// Tokens of each of them in the request: as a message, or quoted.
    pub tokens: Vec<i64>,
    /// True if the conversation is sent as it came.
    pub whole: bool,
    /// Tokens kept for what is recalled, its frame included; 0 when nothing is.
    pub share: i64,
    /// Tokens of the share for the frame around it.
    pub frame: i64,
    /// The user's last message, by its index: what is recalled becomes its first part.
    pub question: Option<usize>,
    /// Results that are sent as excerpts, by message and by their number in it.
    pub excerpts: BTreeMap<(usize, usize), Excerpt>,
    /// Expectation of a prompt cache.
    pub expected: Expected,
    /// Newest-first trimming of the same request, where the plan is asked to
    /// [compare](crate::model::TurnPlan::compare).
    pub newest_first: Option<NewestFirst>,
    /// Relevance of each candidate before the cut.
    pub hints: Vec<Option<Hint>>,
    pub(super) verdict: SharedVerdict,
    /// The longest result that is quoted whole.
    pub(super) quoted: i64,
}

impl Planned {
    /// Tokens that are sent whatever is recalled.
    #[must_use]
    pub fn pinned_tokens(&self) -> i64 {
        self.sent_tokens().fold(0, i64::saturating_add)
    }

    /// Tokens that are sent of each candidate as messages of its own.
    pub(super) fn sent_tokens(&self) -> impl Iterator<Item = i64> {
        let parts = self.parts.iter().zip(&self.tokens);
        parts.map(|(part, tokens)| if part.is_sent() { *tokens } else { 0 })
    }

    /// Returns true if a judge has said how relevant the messages before the cut are.
    pub(crate) fn is_judged(&self) -> bool {
        self.verdict.0.is_some()
    }

    /// Relevance of an item that a source brings; none when nobody can say.
    #[must_use]
    pub fn hint(&self, text: &str, tokens: i64) -> Option<Hint> {
        let verdict = self.verdict.0.as_ref()?;
        let candidate = Candidate::new(text, tokens);
        let hint = caught(|| verdict.further(&candidate)).ok()?;
        (0.0..=1.0).contains(&hint.value()).then_some(hint)
    }
}

/// The judge's verdict, which judges what sources bring. Plans are equal when their decisions are.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedVerdict(pub(super) Option<Verdict>);

impl PartialEq for SharedVerdict {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
