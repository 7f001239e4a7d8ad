//! Standing orders of a conversation: from which messages they come, and where they are put.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

use super::super::message::{Message, Role, Texts};
use super::super::units::Conversation;
use super::ladder_units::LadderUnit;
use super::planned::{Part, PlanOutcome};
use super::quote::Quotation;
use super::standing_block::StandingBlock;
use super::summary_block::SummaryBlock;
use super::turn::Turn;
use crate::standing::{StandingOrder, StandingOrders, standing_kinds};
use crate::text_cache::TextCache;

/// A smaller share holds no sentence.
const LEAST: i64 = 16;

/// Orders that stand in a tool's result, as bits, by the text and a hash of the orders.
static OCCURRENCES: LazyLock<TextCache<u64, u64>> =
    LazyLock::new(|| TextCache::new(4 << 20, 128, |_| 0));

impl Conversation {
    /// Tokens that standing orders take in a turn, frame and part included; 0 if they are off.
    pub(super) fn standing_tokens(&self, turn: &Turn<'_>) -> i64 {
        let share = turn.plan.standing_tokens(turn.window);
        let frame = || StandingBlock::frame_tokens(self.token_counter());
        let whole = || share.saturating_add(frame()).saturating_add(self.part.tokens());
        if share < LEAST { 0 } else { whole().min(turn.room.max(0)) }
    }

    /// Finds the units in which a user gives a standing order, unless everything fits.
    pub(super) fn find_orders(&self, units: &mut [LadderUnit], turn: &Turn<'_>, texts: &dyn Texts) {
        let recall = turn.plan.recall_tokens(turn.window, true);
        let frame = Quotation::frame_tokens(self.token_counter());
        let most = units.iter().map(|unit| unit.whole);
        let most = most.fold(recall.saturating_add(frame), i64::saturating_add);
        let most = self.documents.iter().map(|it| it.item.tokens()).fold(most, i64::saturating_add);
        if most <= turn.room || self.standing_tokens(turn) == 0 {
            return;
        }
        for (unit, members) in units.iter_mut().zip(self.all_members()) {
            if unit.asks {
                (unit.rules, unit.orders) = self.standing_kinds(members, texts);
            }
        }
    }

    /// Adds the block to a plan whose parts are known: the orders, if so many tokens are kept for them, and
    /// the summaries.
    pub(super) fn add_standing(
        &self,
        planned: &mut PlanOutcome,
        units: &[LadderUnit],
        (reserve, summaries): (i64, Option<&SummaryBlock>),
        texts: &dyn Texts,
    ) {
        if reserve <= 0 && summaries.is_none() {
            return;
        }
        let Some((unit, message)) = self.carrier(planned) else { return };
        let orders = match reserve {
            ..=0 => None,
            _ => self.standing_block(planned, (units, message), reserve, texts),
        };
        let block = match summaries {
            Some(it) => Some(StandingBlock::summarised(message, orders, it, self.token_counter())),
            None => orders,
        };
        if let Some(block) = block {
            let tokens = block.tokens.saturating_add(self.part.tokens());
            let slot = planned.tokens.get_mut(unit);
            slot.into_iter().for_each(|slot| *slot = slot.saturating_add(tokens));
            planned.standing = Some(block);
        }
    }

    /// Tokens of the block if it is in this message.
    pub(in crate::conversation) fn standing_in(
        &self,
        index: usize,
        block: Option<&StandingBlock>,
    ) -> i64 {
        let block = block.filter(|block| block.message == index);
        block.map_or(0, |block| block.tokens.saturating_add(self.part.tokens()))
    }

    /// Kinds of the standing sentences in these messages: any at all, and any but retractions.
    fn standing_kinds(&self, members: &[usize], texts: &dyn Texts) -> (bool, bool) {
        let mut kinds = (false, false);
        for index in members {
            let Some(message) = self.messages.get(*index).filter(|it| may_order(it)) else {
                continue;
            };
            if let Some(told) = message.told_standing() {
                kinds = (kinds.0 | told, kinds.1 | told);
                continue;
            }
            let (rules, orders) = standing_kinds(&self.own_words(*index, message, texts));
            kinds = (kinds.0 | rules, kinds.1 | orders);
        }
        kinds
    }

    /// The unit and the message that carry the block of a plan whose parts are known: the first of a user
    /// behind the cut.
    pub(super) fn carrier(&self, planned: &PlanOutcome) -> Option<(usize, usize)> {
        let parts = planned.parts.iter().zip(self.all_members()).enumerate();
        let mut behind = parts.filter(|(_, (part, _))| part.is_sent() && **part != Part::Head);
        let asks = |index: &&usize| self.messages.get(**index).is_some_and(Message::asks);
        behind.find_map(|(unit, (_, members))| Some((unit, *members.iter().find(asks)?)))
    }

    /// The block with the orders of a plan whose parts are known, for the message that carries it.
    fn standing_block(
        &self,
        planned: &PlanOutcome,
        (units, message): (&[LadderUnit], usize),
        reserve: i64,
        texts: &dyn Texts,
    ) -> Option<StandingBlock> {
        let parts = || planned.parts.iter().zip(self.all_members()).enumerate();
        let mut orders = StandingOrders::new();
        let earlier =
            parts().zip(units).filter(|((_, (part, _)), unit)| unit.rules && !part.is_sent());
        for ((_, (_, members)), _) in earlier {
            for index in members {
                let Some(message) = self.messages.get(*index).filter(|it| may_order(it)) else {
                    continue;
                };
                let words = || self.own_words(*index, message, texts);
                match message.told_standing() {
                    Some(true) => orders.mark(*index, &words()),
                    Some(false) => {}
                    None => orders.read(*index, &words()),
                }
            }
        }
        let orders = self.without_results(orders.iter().cloned().collect(), texts);
        let counter = self.token_counter();
        let frame = StandingBlock::frame_tokens(counter).saturating_add(self.part.tokens());
        StandingBlock::new(message, orders, reserve.saturating_sub(frame), counter)
    }

    /// Orders whose text occurs in no tool's result and in no document.
    fn without_results(
        &self,
        mut orders: Vec<StandingOrder>,
        texts: &dyn Texts,
    ) -> Vec<StandingOrder> {
        if orders.is_empty() {
            return orders;
        }
        // The newest, one bit for each.
        let older = orders.len().saturating_sub(u64::BITS as usize);
        orders.drain(..older);
        let mut hasher = foldhash::fast::FixedState::default().build_hasher();
        for order in &orders {
            hasher.write(order.text.as_bytes());
            hasher.write_u8(0);
        }
        let tag = hasher.finish();
        let mut found = 0;
        let mut look = |text: &str| {
            let bits = || {
                let holds = |(at, order): (usize, &StandingOrder)| {
                    u64::from(text.contains(&*order.text)) << at
                };
                orders.iter().enumerate().map(holds).fold(0, |bits, bit| bits | bit)
            };
            found |= OCCURRENCES.get_or_insert(&OCCURRENCES.key(text, tag), bits);
        };
        for (index, message) in self.messages.iter().enumerate() {
            if message.role == Role::Tool {
                look(&texts.message(index, message));
            } else {
                for number in 0..message.results.len() {
                    if let Some(text) = texts.result(index, message, number) {
                        look(&text);
                    }
                }
            }
        }
        self.documents.iter().for_each(|document| look(&document.text));
        let mut at = 0..;
        orders.retain(|_| at.next().is_some_and(|at: u32| found >> at & 1 == 0));
        orders
    }

    /// The user's own words in a message, without a copy where there are no others.
    fn own_words<'a>(
        &self,
        index: usize,
        message: &'a Message,
        texts: &'a dyn Texts,
    ) -> Cow<'a, str> {
        match &message.words {
            Some(words) => Cow::Borrowed(words),
            None => texts.message(index, message),
        }
    }
}

/// Tests if a message can hold standing orders: a user's that is not sent anyway.
fn may_order(message: &Message) -> bool {
    message.asks() && !message.private && !message.stays()
}
