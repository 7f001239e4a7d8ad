//! The block of standing orders: its text and its tokens.

use std::borrow::Cow;

use super::quote::quote_into;
use super::summary::PlacedSummary;
use super::summary_block::SummaryBlock;
use crate::standing::StandingOrder;
use crate::tokens::TokenCounter;

/// Before the sentences. They are the user's own, so they may instruct.
const OPEN: &str = "<standing>\nThe user's own earlier instructions and preferences, quoted with their \
                    places. They still apply unless the user says otherwise.\n";
const CLOSE: &str = "</standing>\n\n";

/// The block of standing orders that a request carries, with the summaries behind them.
///
/// It becomes the first text of the first user message behind the cut. It holds what the user said in
/// messages that are no longer sent, and summaries of such messages, so its bytes change only when the cut
/// moves.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StandingBlock {
    /// Index of the message that carries it.
    pub message: usize,
    /// The text, with its frame.
    pub text: String,
    /// Tokens of the text. The plan counts them with the message.
    pub tokens: i64,
    /// Orders in it, in the conversation's order.
    pub orders: Vec<StandingOrder>,
    /// Number of older orders that did not fit.
    pub left_out: usize,
    /// Summaries behind the orders, in the conversation's order. Empty unless a compactor is set.
    pub summaries: Vec<PlacedSummary>,
    /// Tokens of the summaries with their frame. They are among the tokens of the text.
    pub summary_tokens: i64,
    /// The summaries in their frame.
    quoted: String,
}

impl StandingBlock {
    /// The newest orders that fit into so many tokens beside the frame. None if there are none.
    pub(super) fn new(
        message: usize,
        all: Vec<StandingOrder>,
        share: i64,
        counter: &dyn TokenCounter,
    ) -> Option<Self> {
        let (mut left, mut orders) = (share, Vec::new());
        let count = all.len();
        for order in all.into_iter().rev() {
            // One for the seam.
            let tokens = counter.count(&line(&order)).max(0).saturating_add(1);
            if tokens <= left {
                left -= tokens;
                orders.push(order);
            }
        }
        orders.reverse();
        let left_out = count - orders.len();
        let mut block = Self { orders, left_out, ..Self::empty(message) };
        let most = share.saturating_add(Self::frame_tokens(counter));
        while !block.orders.is_empty() {
            block = block.written(counter);
            if block.tokens <= most {
                return Some(block);
            }
            // Together they have more tokens than apart.
            block.orders.remove(0);
            block.left_out += 1;
        }
        None
    }

    fn empty(message: usize) -> Self {
        Self {
            message,
            text: String::new(),
            tokens: 0,
            orders: Vec::new(),
            left_out: 0,
            summaries: Vec::new(),
            summary_tokens: 0,
            quoted: String::new(),
        }
    }

    /// The block with these orders, if there are any, and summaries.
    pub(super) fn summarised(
        message: usize,
        orders: Option<Self>,
        summaries: &SummaryBlock,
        counter: &dyn TokenCounter,
    ) -> Self {
        let block = Self {
            summaries: summaries.placed.clone(),
            summary_tokens: summaries.tokens,
            quoted: summaries.text.clone(),
            ..orders.unwrap_or_else(|| Self::empty(message))
        };
        block.written(counter)
    }

    /// Writes the text anew.
    fn written(mut self, counter: &dyn TokenCounter) -> Self {
        self.text.clear();
        if !self.orders.is_empty() {
            let lines: String = self.orders.iter().map(line).collect();
            self.text = format!("{OPEN}{lines}{CLOSE}");
        }
        self.text.push_str(&self.quoted);
        self.tokens = counter.count(&self.text).max(0);
        self
    }

    /// Drops orders whose text somebody else's texts hold. None if nothing is left.
    pub(in crate::conversation) fn without<'t>(
        mut self,
        texts: impl Iterator<Item = Cow<'t, str>>,
        counter: &dyn TokenCounter,
    ) -> Option<Self> {
        let before = self.orders.len();
        for text in texts {
            self.orders.retain(|order| !text.contains(&*order.text));
        }
        let unchanged = self.orders.len() == before;
        match self.orders.is_empty() && self.summaries.is_empty() {
            true => None,
            false if unchanged => Some(self),
            false => Some(self.written(counter)),
        }
    }

    /// One line for reports.
    #[must_use]
    pub fn describe(&self) -> String {
        let orders = self.orders.iter().map(|order| line(order).trim_end().replace('\n', " "));
        let orders: Vec<String> = orders.collect();
        let Self { message, left_out, summaries, summary_tokens, .. } = self;
        let tokens = self.tokens.saturating_sub(*summary_tokens);
        let count = summaries.len();
        let places = summaries.first().zip(summaries.last());
        let places = places.map(|(from, to)| format!("{} to {}", from.first, to.last));
        let placed = places.map(|places| {
            format!(
                "{count} summaries of messages {places} take {summary_tokens} tokens in message {message}"
            )
        });
        if self.orders.is_empty() {
            return placed.unwrap_or_default();
        }
        let more = match left_out {
            0 => String::new(),
            count => format!("; {count} older ones did not fit"),
        };
        let orders = orders.join(" ");
        let behind = placed.map_or_else(String::new, |placed| format!("; {placed}"));
        format!(
            "standing orders of the user take {tokens} tokens in message {message}: {orders}{more}{behind}"
        )
    }

    /// Tokens of the frame around the sentences.
    pub(super) fn frame_tokens(counter: &dyn TokenCounter) -> i64 {
        // Two for the seams.
        counter.count(OPEN).max(0).saturating_add(counter.count(CLOSE).max(0)).saturating_add(2)
    }
}

fn line(order: &StandingOrder) -> String {
    let mut line = format!("[{}] ", order.message);
    quote_into(&order.text, "\n ", &mut line);
    line.push('\n');
    line
}
