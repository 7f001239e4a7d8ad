//! A planned turn: the part of each candidate, the excerpts, and the expectation of a prompt cache.

use std::collections::BTreeMap;
use std::ops::Range;

use super::excerpt::Excerpt;
use super::passage::Passage;
use super::standing_block::StandingBlock;
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
pub struct PlanOutcome {
    /// The part of each candidate, in their order: units of messages, then documents.
    pub parts: Vec<Part>,
    /// Tokens of each of them in the request: as a message, or quoted.
    pub tokens: Vec<i64>,
    /// True if the conversation is sent unchanged.
    pub whole: bool,
    /// Tokens kept for what is recalled, its frame included; 0 when nothing is.
    pub share: i64,
    /// The share before the exchange needed the room.
    pub full_share: i64,
    /// Tokens of the share for the frame around it.
    pub frame: i64,
    /// The user's last message, by its index: what is recalled becomes its first part.
    pub question: Option<usize>,
    /// Results that are sent as excerpts, by message and by their number in it.
    pub excerpts: BTreeMap<(usize, usize), Excerpt>,
    /// Expectation of a prompt cache.
    pub expected: CacheExpectation,
    /// Standing orders of the user that are no longer in view; none when nothing is cut.
    pub standing: Option<StandingBlock>,
    /// Newest-first trimming of the same request, where the plan is asked to
    /// [compare](crate::model::TurnPlan::compare).
    pub newest_first: Option<NewestFirst>,
    /// Relevance of each candidate before the cut.
    pub hints: Vec<Option<Hint>>,
    pub(super) verdict: SharedVerdict,
    /// Passages that compete to be recalled, until they are judged.
    pub(super) candidates: Vec<Passage>,
    /// Passages that are quoted, by message. Messages that are not here are quoted whole.
    pub(in crate::conversation) passages: BTreeMap<usize, Vec<Range<usize>>>,
    /// The longest result that is quoted whole.
    pub(in crate::conversation) quoted: i64,
}

impl PlanOutcome {
    /// Tokens that are sent whatever is recalled.
    #[must_use]
    pub fn pinned_tokens(&self) -> i64 {
        self.sent_tokens().fold(0, i64::saturating_add)
    }

    /// Says in words that recall gave way to the exchange. None if it did not.
    #[must_use]
    pub fn recall_gave_way(&self) -> Option<String> {
        let has_earlier = self.parts.contains(&Part::Earlier);
        let tokens = self.share.saturating_sub(self.frame);
        (has_earlier && self.share < self.full_share).then(|| match tokens {
            ..=0 => "nothing is recalled: the exchange needed the room".to_owned(),
            _ => format!("recall shrank to {tokens} tokens: the exchange needed the room"),
        })
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

    /// Takes the verdict out of the plan.
    pub(crate) fn take_verdict(&mut self) -> Option<Verdict> {
        self.verdict.0.take()
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

/// Expectation of a prompt cache, if the request before was this one without the model's newest response
/// and what came after it, and is still remembered.
///
/// An upper bound: providers match from a least number of tokens on and in steps, forget, and may
/// not have seen that request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CacheExpectation {
    /// Tokens that were in the request before, at the same place: fixed ones and instructions
    /// included, what is recalled not.
    pub cached_tokens: i64,
    /// Why the request does not begin as the one before did, up to what was recalled then.
    pub broke: Option<PrefixBreak>,
    /// True if the same quotation stood in the same message then: its tokens are cached as well.
    pub same_recall: bool,
    /// Tokens up to the last place where the cache may end, what is recalled not included; none
    /// where it takes up all of the request.
    pub written_up_to: Option<i64>,
    /// Tokens that the cache would have known if the tools that are sent had not changed.
    pub lost_with_tools: i64,
}

impl CacheExpectation {
    /// The expectation of a request whose tools are not those of the request before: they stand before
    /// everything else, so nothing is known.
    pub(super) fn with_other_tools(self) -> Self {
        let broke = match self.broke {
            Some(PrefixBreak::First | PrefixBreak::Outgrown | PrefixBreak::Unknown) => self.broke,
            _ => Some(PrefixBreak::ToolsChanged),
        };
        Self { broke, lost_with_tools: self.cached_tokens, ..Self::default() }
    }
}

/// Why a request does not begin as the one before did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PrefixBreak {
    /// There was none before.
    First,
    /// The conversation has outgrown the window: from now on it is cut.
    Outgrown,
    /// The cut has moved to the next line of the grid.
    CutMoved,
    /// Recalled messages, the message the user replies to or steps of the exchange have given way.
    GaveWay,
    /// The history begins elsewhere than it did: its older messages are no longer looked at.
    StartMoved,
    /// The history is not the one of the call before with newer messages: it was edited, cut, or
    /// goes on from an earlier place. A plan cannot see that; `TurnReport::following` can, which is
    /// told of that call.
    Edited,
    /// Other tools are sent, because a new question needs them.
    ToolsChanged,
    /// Part of the conversation is on the server: nothing is known of it.
    Unknown,
}

impl PrefixBreak {
    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Outgrown => "outgrown",
            Self::CutMoved => "cut moved",
            Self::GaveWay => "gave way",
            Self::StartMoved => "start moved",
            Self::Edited => "edited",
            Self::ToolsChanged => "tools changed",
            Self::Unknown => "unknown",
        }
    }
}

impl std::fmt::Display for PrefixBreak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The longest run of newest messages that fits behind the instructions: what most people send who
/// have no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct NewestFirst {
    /// Tokens of the whole request, fixed ones included.
    pub tokens: i64,
    /// Tokens of these that a prompt cache may know; an upper bound, as for a plan.
    pub cached_tokens: i64,
}

impl NewestFirst {
    /// Cost of its input, in new tokens. Providers take up all that is new.
    #[must_use]
    pub fn cost(&self, prices: Prices) -> f64 {
        let new = self.tokens.saturating_sub(self.cached_tokens);
        prices.cost(self.cached_tokens, new, new)
    }
}

/// Prices of input tokens, relative to a new token that the cache does not take up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// One that is read from the cache.
    pub cached: f64,
    /// A new one that the cache takes up.
    pub written: f64,
}

impl Prices {
    /// A tenth for what is read, nothing more for what is written: OpenAI's models up to GPT-5.5,
    /// DeepSeek's, Gemini's.
    pub const FREE_WRITES: Self = Self { cached: 0.1, written: 1.0 };
    /// A tenth for what is read, a quarter more for what is written: Anthropic's models, and OpenAI's
    /// from GPT-5.6 on.
    pub const PAID_WRITES: Self = Self { cached: 0.1, written: 1.25 };

    /// The cost of an input, in new tokens; `written` of the new ones are taken up.
    #[must_use]
    pub fn cost(self, cached: i64, written: i64, new: i64) -> f64 {
        let plain = new.saturating_sub(written);
        cached as f64 * self.cached + written as f64 * self.written + plain as f64
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
