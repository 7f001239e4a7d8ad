//! Cost of requests with a prompt cache: tokens of the same prefix as the previous request cost a
//! tenth.

use cupel::tokens::{FormatOverhead, counter_fn};
use serde_json::Value;

use super::sight::{calls_of, field, words};
use crate::docs_index::estimate_tokens;

/// Price of a cached token, as a share of a new one.
const CACHED_PRICE: f64 = 0.1;

/// The sums over all requests of one way to fit them.
#[derive(Default)]
pub(crate) struct Bill {
    pub(crate) sent: i64,
    pub(crate) cached: i64,
    /// The request before.
    last: Vec<Value>,
}

impl Bill {
    /// Adds a request. A cache knows of it what the one before began with, message by message; the
    /// tools stand before them all.
    pub(crate) fn add(&mut self, messages: &[Value], tools: i64) {
        let same = self.last.iter().zip(messages).take_while(|(before, now)| before == now);
        let same: i64 = same.map(|(message, _)| tokens_of(message)).sum();
        self.cached += if self.last.is_empty() { 0 } else { tools + same };
        self.sent += tools + messages.iter().map(tokens_of).sum::<i64>();
        self.last = messages.to_vec();
    }

    /// Returns true if a request begins like the one before it: with all of it in the same turn,
    /// otherwise up to its question, because the texts recalled for that question are gone.
    pub(crate) fn continues(&self, messages: &[Value], same_turn: bool) -> bool {
        let asked = self.last.iter().rposition(|message| field(message, "role") == "user");
        let end = asked.filter(|_| !same_turn).unwrap_or(self.last.len());
        self.last.get(..end).is_some_and(|before| messages.starts_with(before))
    }

    /// In tokens that are new.
    pub(crate) fn cost(&self) -> f64 {
        (self.sent - self.cached) as f64 + CACHED_PRICE * self.cached as f64
    }
}

/// The request that newest-first trimming would send: the same instructions, the same question with
/// the same quotations, and as many of the newest messages as there is room for.
pub(crate) fn newest_first(history: &[Value], sent: &[Value], room: i64) -> Vec<Value> {
    let is_user = |message: &Value| field(message, "role") == "user";
    let asked = sent.iter().rfind(|message| is_user(message));
    let (Some(first), Some(asked)) = (history.first(), asked) else { return Vec::new() };
    let mut left = room - tokens_of(first) - tokens_of(asked);
    let mut kept: Vec<Value> = Vec::new();
    let mut has_question = false;
    for message in history.iter().skip(1).rev() {
        if !has_question && is_user(message) {
            has_question = true;
            kept.push(asked.clone());
            continue;
        }
        left -= tokens_of(message);
        if left < 0 {
            break;
        }
        kept.push(message.clone());
    }
    // A result whose call has gone would be refused.
    while kept.last().is_some_and(|message| field(message, "role") == "tool") {
        kept.pop();
    }
    kept.push(first.clone());
    kept.reverse();
    kept
}

/// The tokens of a message, by the published rule for Chat Completions.
pub(crate) fn tokens_of(message: &Value) -> i64 {
    let counter = counter_fn("characters / 4", estimate_tokens);
    let format = FormatOverhead::CHAT;
    let texts: i64 = words(message).into_iter().map(estimate_tokens).sum();
    let calls = calls_of(message).map(|(_, call)| {
        format.per_call + estimate_tokens(call.tool.name()) + estimate_tokens(&call.arguments())
    });
    format.message(&counter, field(message, "role")) + texts + calls.sum::<i64>()
}
