//! What newest-first trimming would send in a plan's place, so that its cost can be set beside the plan's.

use super::units::{Sums, Unit, run};

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
    use super::super::{Plain, Turn};
    use super::*;
    use crate::conversation::{Conversation, Message, Role, Rules};
    use crate::model::TurnPlan;
    use crate::tokens::HeuristicCounter;

    /// Instructions of 50 tokens, then so many exchanges of 100 and 100, and a question of 10.
    fn newest(exchanges: usize) -> Option<NewestFirst> {
        let mut messages = vec![Message::new(Role::System, "Be brief.", 50)];
        for turn in 0..exchanges {
            messages.push(Message::new(Role::User, format!("Question {turn}?"), 100));
            messages.push(Message::new(Role::Assistant, format!("Answer {turn}."), 100));
        }
        messages.push(Message::new(Role::User, "And now?", 10));
        let texts = Plain::new(&messages, &HeuristicCounter);
        let mut conversation = Conversation::new(messages.clone(), &Rules::new()).unwrap();
        let plan = TurnPlan::new().compare(true);
        let turn = Turn::new(&plan, 1_000).fixed_tokens(7);
        conversation.plan(&turn, &texts).unwrap().newest_first
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
