//! Tokens that a prompt cache may know of a request, and what newest-first trimming would cost.

use super::ladder::{Decision, Step, Sums, Unit, run};

/// What is expected of a prompt cache, if the request before was this one without its newest
/// messages and is still remembered.
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
    /// Whether what is recalled is what was recalled then.
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
    /// What is recalled, what the user replies to or steps of the exchange have given way.
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

/// What a request has in common with the one before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Common {
    pub(super) broke: Option<Broke>,
    pub(super) same_recall: bool,
    /// What is sent of so many units is the same, what is recalled aside.
    pub(super) units: usize,
}

/// Compares a decision with the one of the request before, which had the first `known` units.
pub(super) fn compare(
    units: &[Unit],
    before: Option<(usize, &Decision)>,
    now: &Decision,
) -> Common {
    let Some((known, before)) = before else {
        return Common { broke: Some(Broke::First), same_recall: false, units: 0 };
    };
    let same_run = before.cut == now.cut
        // Behind the end of that request there was nothing to fade.
        && before.faded_to.min(known) == now.faded_to.min(known)
        && before.beside == now.beside
        && (before.step == Step::Whole) == (now.step == Step::Whole)
        && before.excerpt == now.excerpt
        && before.squeeze == now.squeeze
        // Within one exchange what was recalled stands before its steps.
        && (before.question != now.question || before.share == now.share);
    let broke = match (before.step, now.step) {
        _ if same_run => None,
        // What sources bring has given way to the conversation.
        (Step::Whole, Step::Whole) => Some(Broke::GaveWay),
        (Step::Whole, _) => Some(Broke::Outgrown),
        (_, Step::Tail | Step::Whole) => Some(Broke::CutMoved),
        (Step::Tail, _) => Some(Broke::GaveWay),
        (old, new) if old == new => Some(Broke::CutMoved),
        _ => Some(Broke::GaveWay),
    };
    let same_recall = before.question == now.question && before.share == now.share;
    let same = match broke {
        Some(_) => units.iter().take_while(|unit| unit.stays).count(),
        // Up to the end of that request, or to the question that had something before it.
        None if same_recall || before.share == 0 && now.question != before.question => known,
        None => before.question.unwrap_or(known),
    };
    Common { broke, same_recall, units: same }
}

impl Common {
    /// Expectation of the cache for a request that sends so many tokens of each unit.
    pub(super) fn expected(self, sent: impl Iterator<Item = i64>, fixed_tokens: i64) -> Expected {
        let cached_tokens = match self.broke {
            Some(Broke::First) => 0,
            _ => sent.take(self.units).fold(fixed_tokens, i64::saturating_add),
        };
        let Self { broke, same_recall, .. } = self;
        Expected { cached_tokens, broke, same_recall, written_up_to: None }
    }
}

/// The longest run of newest messages that fits behind the instructions: what most people send who
/// have no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct NewestFirst {
    /// Tokens of the whole request, fixed ones included.
    pub tokens: i64,
    /// Of these, those that a prompt cache may know; an upper bound, as for a plan.
    pub cached_tokens: i64,
}

impl NewestFirst {
    /// What its input costs, in new tokens. Providers take up all that is new.
    #[must_use]
    pub fn cost(&self, prices: Prices) -> f64 {
        let new = self.tokens.saturating_sub(self.cached_tokens);
        prices.cost(self.cached_tokens, new, new)
    }
}

/// What a token of the input costs beside a new one that is not taken up.
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

/// What newest-first trimming sends of these units; the request before had the first `known`.
pub(super) fn newest_first(
    units: &[Unit],
    sums: &Sums,
    room: i64,
    fixed_tokens: i64,
    known: Option<usize>,
) -> NewestFirst {
    let kept = |start: usize, end: usize| {
        run(&sums.fixed, 0, end).saturating_add(run(&sums.whole, start, end))
    };
    // The sizes of ever shorter suffixes descend.
    let start = |end: usize| {
        let starts: Vec<usize> = (0..end).collect();
        starts.partition_point(|start| kept(*start, end) > room)
    };
    let now = start(units.len());
    let leading = units.iter().take_while(|unit| unit.stays).count();
    let cached = match known {
        None => 0,
        Some(known) if start(known) == now => fixed_tokens.saturating_add(kept(now, known)),
        Some(_) => fixed_tokens.saturating_add(run(&sums.fixed, 0, leading)),
    };
    let tokens = fixed_tokens.saturating_add(kept(now, units.len()));
    NewestFirst { tokens, cached_tokens: cached.min(tokens) }
}

#[cfg(test)]
mod tests {
    use super::super::Turn;
    use super::*;
    use crate::conversation::{Conversation, Message, MessageTexts, Role, Rules};
    use crate::model::TurnPlan;

    /// Instructions of 50 tokens, then so many exchanges of 100 and 100, and a question of 10.
    fn newest(exchanges: usize) -> Option<NewestFirst> {
        let mut messages = vec![Message::new(Role::System, "Be brief.", 50)];
        for turn in 0..exchanges {
            messages.push(Message::new(Role::User, format!("Question {turn}?"), 100));
            messages.push(Message::new(Role::Assistant, format!("Answer {turn}."), 100));
        }
        messages.push(Message::new(Role::User, "And now?", 10));
        let conversation = Conversation::new(messages, &Rules::new()).unwrap();
        let plan = TurnPlan::new().compare(true);
        let turn = Turn::new(&plan, 1_000).fixed_tokens(7);
        conversation.plan(&turn, None, &MessageTexts).unwrap().newest_first
    }

    #[test]
    fn what_fits_is_cached_up_to_the_answer_before() {
        // All of it: 7 + 50 + 4 * 200 + 10. The call before had all but the last answer and the
        // question, 7 + 50 + 3 * 200 + 100.
        assert_eq!(newest(4), Some(NewestFirst { tokens: 867, cached_tokens: 757 }));
    }

    #[test]
    fn a_start_that_moves_leaves_only_the_instructions_in_the_cache() {
        // Of 950 tokens 9 messages of 100 and the question fit: 7 + 50 + 900 + 10. The call before
        // had 9 as well, one of them older.
        assert_eq!(newest(20), Some(NewestFirst { tokens: 967, cached_tokens: 57 }));
    }

    #[test]
    fn prices_are_those_of_a_new_token() {
        let newest = NewestFirst { tokens: 1_000, cached_tokens: 600 };
        assert_eq!(newest.cost(Prices::FREE_WRITES), 460.0);
        assert_eq!(newest.cost(Prices::PAID_WRITES), 560.0);
        assert_eq!(Prices::PAID_WRITES.cost(100, 40, 50), 10.0 + 50.0 + 10.0);
    }
}
