//! Compares a request with the one before it, to say what a prompt cache may know.

use super::super::message::Texts;
use super::super::tools::end_of_request_before;
use super::super::units::Conversation;
use super::documents::DocumentRoom;
use super::ladder::{Decision, Room, Step};
use super::ladder_units::{LadderUnit, Sums, run};
use super::planned::{CacheExpectation, NewestFirst, PlanOutcome, PrefixBreak};
use super::summary_block::SummaryBlocks;
use super::turn::Turn;

/// Decision about one request, and the facts that it was made with.
pub(super) struct Choice<'a> {
    pub(super) decision: Decision,
    pub(super) documents: DocumentRoom,
    /// The turn without what its documents take.
    pub(super) turn: Turn<'a>,
    /// Tokens of the frame around what is recalled.
    pub(super) frame: i64,
    /// True if there are sources beside the request's own documents.
    pub(super) has_sources: bool,
    pub(super) room: Room,
    /// Summaries that each cut could carry.
    pub(super) summaries: SummaryBlocks,
}

/// The request before: this history without the model's newest response and what came after it.
pub(super) struct Before<'a> {
    /// Units of that request.
    pub(super) units: Vec<LadderUnit>,
    /// None if that request was not planned.
    choice: Option<Choice<'a>>,
}

impl<'a> Before<'a> {
    /// The request before a conversation with these units. None if this is the first one.
    pub(super) fn of(
        conversation: &Conversation,
        units: &[LadderUnit],
        turn: &Turn<'a>,
    ) -> Option<Self> {
        let end = end_of_request_before(&conversation.messages)?;
        let begins_before = |members: &&[usize]| members.first().is_some_and(|first| *first < end);
        let known = conversation.all_members().take_while(begins_before).count();
        let mut units = units.get(..known)?.to_vec();
        for (number, members) in conversation.all_members().take(known).enumerate() {
            let needs = units.get(number).and_then(|unit| unit.needs);
            let lacks = needs.is_some_and(|need| units.get(need).is_some_and(|unit| unit.absent));
            if lacks || members.last().is_some_and(|last| *last >= end) {
                let absent = LadderUnit { absent: true, stays: true, ..LadderUnit::default() };
                units.get_mut(number).into_iter().for_each(|unit| *unit = absent.clone());
            }
        }
        let choice = conversation.choose(&units, turn);
        Some(Self { units, choice })
    }
}

impl Conversation {
    /// Compares a request with the one before it, message by message.
    pub(super) fn expect(
        &self,
        now: &Choice<'_>,
        units: &[LadderUnit],
        before: Option<&Before<'_>>,
        planned: &PlanOutcome,
        texts: &dyn Texts,
    ) -> CacheExpectation {
        let Some(before) = before else {
            return CacheExpectation {
                broke: Some(PrefixBreak::First),
                ..CacheExpectation::default()
            };
        };
        let fixed = now.turn.fixed_tokens;
        let broken = |broke: PrefixBreak, cached_tokens: i64| CacheExpectation {
            cached_tokens,
            broke: Some(broke),
            ..CacheExpectation::default()
        };
        let begun = fixed.saturating_add(now.documents.staying);
        // Instructions at the beginning are there whatever was cut.
        let head = self.messages.iter().take_while(|it| it.stays() && it.refused.is_none());
        let head = head.map(|message| message.tokens).fold(begun, i64::saturating_add);
        let Some(then) = &before.choice else { return broken(PrefixBreak::GaveWay, head) };
        let reason = reason(then.decision.step, now.decision.step);
        if !then.documents.is_same(&now.documents) {
            return broken(reason, fixed);
        }
        if self.start_moved {
            return broken(PrefixBreak::StartMoved, head);
        }

        let [limits_then, limits_now] = [(then, &*before.units), (now, units)]
            .map(|(choice, units)| self.limits(choice, units));
        let sent = |(index, limit): (usize, &Option<i64>)| Some((index, (*limit)?));
        let sent_then = limits_then.iter().enumerate().filter_map(sent);
        let mut sent_now = limits_now.iter().enumerate().filter_map(sent);
        let (asked_then, asked_now) =
            (self.question_of(&then.decision), self.question_of(&now.decision));
        let mut expected = CacheExpectation { cached_tokens: begun, ..CacheExpectation::default() };
        let mut aligned = true;
        let same_standing = same_standing(&then.decision, &now.decision);
        // Summaries that are gone have changed the message that held them.
        let carrier = match &planned.standing {
            Some(block) => Some(block.message),
            None if then.decision.summaries > 0 => self.carrier(planned).map(|(_, at)| at),
            None => None,
        };
        for (then_at, then_limit) in sent_then {
            let same = sent_now.next().filter(|(at, limit)| {
                (*at == then_at || self.same_message(then_at, *at, texts))
                    && self.same_excerpts(*at, [then_limit, *limit], now, texts)
            });
            let Some((at, _)) = same else {
                expected.broke = Some(reason);
                return expected;
            };
            if carrier == Some(at) && !same_standing {
                expected.broke = Some(reason);
                return expected;
            }
            aligned &= at == then_at;
            let (asked, asks) = (Some(then_at) == asked_then, Some(at) == asked_now);
            if asked && asks && aligned && then.decision.share == now.decision.share {
                // The same question, and the same texts to recall from.
                expected.same_recall = true;
            } else if asked && self.recalls(then, &before.units, texts)
                || asks && self.recalls(now, units, texts)
            {
                // A quotation stands in the question alone, so a new question ends the old one's.
                expected.broke = (asks || !asked).then_some(reason);
                return expected;
            }
            let tokens = self.sent_tokens(at, &planned.excerpts);
            let standing = self.standing_in(at, planned.standing.as_ref());
            let tokens = tokens.saturating_add(standing);
            expected.cached_tokens = expected.cached_tokens.saturating_add(tokens);
        }
        expected
    }

    /// Longest result that is sent whole in each message. None for messages that are not sent.
    fn limits(&self, choice: &Choice<'_>, units: &[LadderUnit]) -> Vec<Option<i64>> {
        let mut limits = vec![None; self.messages.len()];
        for (number, unit) in units.iter().enumerate().filter(|(_, unit)| !unit.absent) {
            let limit = self.limit(choice, number, unit);
            for index in self.messages_of(number) {
                limits.get_mut(*index).into_iter().for_each(|slot| *slot = limit);
            }
        }
        limits
    }

    /// Returns true if the results of a message are the same texts within two limits.
    fn same_excerpts(
        &self,
        index: usize,
        limits: [i64; 2],
        choice: &Choice<'_>,
        texts: &dyn Texts,
    ) -> bool {
        let [one, other] = limits;
        let Some(message) = self.messages.get(index).filter(|_| one != other) else { return true };
        let hash = choice.turn.plan.hash;
        message.results.iter().enumerate().filter(|(_, it)| **it > one.min(other)).all(
            |(number, tokens)| {
                let Some(text) = texts.result(index, message, number) else { return true };
                let [one, other] = limits.map(|limit| match *tokens > limit {
                    true => self.excerpt(&text, limit, hash).text.into(),
                    false => text.clone(),
                });
                one == other
            },
        )
    }

    /// Returns true if two messages are alike in everything.
    fn same_message(&self, one: usize, other: usize, texts: &dyn Texts) -> bool {
        self.identity(one, texts) == self.identity(other, texts)
    }

    /// Hash of everything that is sent of a message.
    pub(in crate::conversation) fn identity(&self, index: usize, texts: &dyn Texts) -> u64 {
        let message = self.messages.get(index);
        message.map_or(0, |message| message.identity(&texts.message(index, message)))
    }
}

/// Returns true if two decisions send the same standing orders and summaries: those before the same cut.
fn same_standing(then: &Decision, now: &Decision) -> bool {
    (then.cut, &then.beside, then.standing > 0, then.summaries)
        == (now.cut, &now.beside, now.standing > 0, now.summaries)
}

/// Reason for a new beginning, by what gave way in the request before and in this one.
fn reason(then: Step, now: Step) -> PrefixBreak {
    match (then, now) {
        // What sources bring has given way to the conversation.
        (Step::Whole, Step::Whole) => PrefixBreak::GaveWay,
        (Step::Whole, _) => PrefixBreak::Outgrown,
        (_, Step::Tail | Step::Whole) => PrefixBreak::CutMoved,
        (Step::Tail, _) | (_, Step::LessRecall) => PrefixBreak::GaveWay,
        (then, now) if then == now => PrefixBreak::CutMoved,
        _ => PrefixBreak::GaveWay,
    }
}

/// Newest-first trimming of these units; the request before had the first `known`.
pub(super) fn newest_first(
    units: &[LadderUnit],
    turn: &Turn<'_>,
    known: Option<usize>,
) -> NewestFirst {
    let (sums, room, fixed_tokens) = (Sums::of(units), turn.room, turn.fixed_tokens);
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
    use super::super::Prices;
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
