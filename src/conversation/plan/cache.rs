//! Tokens that a prompt cache may know of a request, and what newest-first trimming would cost.

/// Expectation of a prompt cache, if the request before was this one without the model's newest response
/// and what came after it, and is still remembered.
///
/// An upper bound: providers match from a least number of tokens on and in steps, forget, and may
/// not have seen that request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Expected {
    /// Tokens that were in the request before, at the same place: fixed ones and instructions
    /// included, what is recalled not.
    pub cached_tokens: i64,
    /// Why the request does not begin as the one before did, up to what was recalled then.
    pub broke: Option<Broke>,
    /// True if the same quotation stood in the same message then: its tokens are cached as well.
    pub same_recall: bool,
    /// Tokens up to the last place where the cache may end, what is recalled not included; none
    /// where it takes up all of the request.
    pub written_up_to: Option<i64>,
}

/// Why a request does not begin as the one before did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Broke {
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
    /// Part of the conversation is on the server: nothing is known of it.
    Unknown,
}

impl Broke {
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
            Self::Unknown => "unknown",
        }
    }
}

impl std::fmt::Display for Broke {
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
