//! Tools of a conversation that does not fit: which are sent, and whether the request before had the same.

use std::hash::{BuildHasher as _, Hasher as _};

use super::message::{Message, Role, Texts};
use super::units::Conversation;
use crate::model::{ContextBudget, ContextItem, ToolLimit};
use crate::tool_choice::{
    ToolChoice, ToolExchange, ToolOffer, ToolReport, choose_tools, keep_named,
};

/// Numbers of a request with tools.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolRoom {
    pub(crate) window: i64,
    /// Tokens for the candidates if all tools are sent. Negative if the fixed tokens alone do not fit.
    pub(crate) room: i64,
    /// Tokens of the candidates.
    pub(crate) own: i64,
}

impl ToolRoom {
    /// Numbers of a request with these fixed tokens and candidates.
    pub(crate) fn of(budget: &ContextBudget, fixed_tokens: i64, own: &[ContextItem]) -> Self {
        let left = budget.plus(fixed_tokens.max(0).saturating_neg());
        let own = own.iter().map(ContextItem::tokens).fold(0, i64::saturating_add);
        let room = left.map_or(-1, |left| left.effective(0).target_tokens());
        Self { window: budget.max_tokens(), room, own }
    }

    /// Tokens that definitions may take. None if all tools are sent.
    pub(crate) fn limit(&self, offer: &ToolOffer, limit: &ToolLimit) -> Option<i64> {
        let tokens = limit.tokens(self.window)?;
        (self.own > self.room && offer.tokens() > tokens).then_some(tokens)
    }
}

/// Tools of a request that are sent.
#[derive(Debug, Clone)]
pub(crate) struct FittedTools {
    /// Their indexes, ascending.
    pub(crate) kept: Vec<usize>,
    pub(crate) report: ToolReport,
}

impl Conversation {
    /// Leaves out tools of a request that does not fit. None if all are sent.
    pub(crate) fn fit_tools(
        &mut self,
        offer: ToolOffer,
        limit: &ToolLimit,
        room: ToolRoom,
        texts: &dyn Texts,
    ) -> Option<Box<FittedTools>> {
        let tokens = room.limit(&offer, limit)?;
        let mut tools = offer.into_tools();
        for (index, message) in self.messages.iter().enumerate() {
            if message.role == Role::System && message.refused.is_none() {
                keep_named(&mut tools, &texts.message(index, message));
            }
        }
        let choose = |end: usize| -> ToolChoice {
            choose_tools(&tools, &self.tool_exchanges(end, texts), limit, tokens)
        };
        let choice = choose(self.messages.len());
        if !choice.leaves_out() {
            return None;
        }
        let changed = end_of_request_before(&self.messages).is_some_and(|end| {
            let later = self.messages.get(end..).unwrap_or_default();
            let later = later.iter().filter(|message| message.refused.is_none());
            let later = later.map(|message| message.tokens).fold(0, i64::saturating_add);
            // A request that fitted was sent with all its tools.
            room.own.saturating_sub(later) <= room.room || choose(end).kept != choice.kept
        });
        let mut hasher = foldhash::fast::FixedState::default().build_hasher();
        hasher.write_u64(self.fixed_identity);
        choice.kept.iter().for_each(|tool| hasher.write_usize(*tool));
        self.fixed_identity = hasher.finish();
        let report = ToolReport::new(&tools, &choice, changed);
        Some(Box::new(FittedTools { kept: choice.kept, report }))
    }

    /// The user's questions among the first messages, each with the tools that were called for it.
    fn tool_exchanges(&self, end: usize, texts: &dyn Texts) -> Vec<ToolExchange> {
        let mut exchanges: Vec<ToolExchange> = Vec::new();
        for (index, message) in self.messages.iter().enumerate().take(end) {
            if message.opens_exchange() {
                exchanges.push(ToolExchange::new(self.words(index, texts)));
            }
            if message.tools.is_empty() {
                continue;
            }
            if exchanges.is_empty() {
                exchanges.push(ToolExchange::default());
            }
            if let Some(exchange) = exchanges.last_mut() {
                exchange.calls.extend(message.tools.iter().cloned());
            }
        }
        exchanges
    }
}

/// Number of messages of the request before: those before the model's newest response. None if there was none.
pub(super) fn end_of_request_before(messages: &[Message]) -> Option<usize> {
    let by_model = |message: &Message| message.role == Role::Assistant;
    let newest = messages.iter().rposition(by_model)?;
    // A response may be several messages.
    Some(messages.get(..newest)?.iter().rposition(|message| !by_model(message))? + 1)
}
