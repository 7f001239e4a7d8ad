//! How far back a history is looked at.

use std::ops::Range;

use cupel::conversation;
use rig_core::message::{Message, UserContent};

/// Room for this many messages at first.
const ROOM: usize = 512;

/// The messages that are looked at.
pub(super) struct InSight {
    /// Their positions in the history, which ascend.
    pub(super) positions: Vec<usize>,
    /// The same, as the selection needs them.
    pub(super) read: Vec<conversation::Message>,
}

impl InSight {
    /// The whole history.
    pub(super) fn all(
        messages: &[Message],
        read: impl FnMut(&Message) -> conversation::Message,
    ) -> Self {
        let positions = (0..messages.len()).collect();
        Self { positions, read: messages.iter().map(read).collect() }
    }

    /// The newest messages, so many tokens of them and what they cannot do without: the beginning
    /// of the exchange in which the view ends, instructions, the question that is being answered
    /// and the user's last words. Older ones are not even counted.
    pub(super) fn back_to(
        horizon: i64,
        messages: &[Message],
        mut read_one: impl FnMut(&Message) -> conversation::Message,
    ) -> Self {
        let question = messages.iter().rposition(opens_exchange);
        let words = words_and_their_call(messages);
        let mut positions = Vec::with_capacity(ROOM);
        let mut read: Vec<conversation::Message> = Vec::with_capacity(ROOM);
        let mut tokens = 0_i64;
        let mut beyond = false;
        for (position, message) in messages.iter().enumerate().rev() {
            let is_needed = question == Some(position)
                || words.contains(&position)
                || matches!(message, Message::System { .. });
            if beyond && !is_needed {
                continue;
            }
            let one = read_one(message);
            tokens = tokens.saturating_add(one.tokens);
            positions.push(position);
            read.push(one);
            // Exchanges that are over go as a whole, and a result only with its call.
            let under_way = question.is_some_and(|question| position > question);
            let is_start = match message {
                Message::System { .. } => false,
                Message::User { .. } => opens_exchange(message),
                Message::Assistant(_) => under_way,
            };
            beyond |= tokens >= horizon && is_start;
        }
        positions.reverse();
        read.reverse();
        Self { positions, read }
    }
}

/// Where the user's last words are; they may stand beside results, which need their call.
fn words_and_their_call(messages: &[Message]) -> Range<usize> {
    let Some(last) = messages.iter().rposition(has_words) else { return 0..0 };
    let is_call = |message: &Message| matches!(message, Message::Assistant(_));
    let first = match messages.get(last) {
        Some(words) if !opens_exchange(words) => messages.iter().take(last).rposition(is_call),
        _ => None,
    };
    first.unwrap_or(last)..last + 1
}

fn has_words(message: &Message) -> bool {
    let Message::User { content } = message else { return false };
    content.iter().any(|part| !matches!(part, UserContent::ToolResult(_)))
}

/// Whether a user begins something new here.
fn opens_exchange(message: &Message) -> bool {
    let Message::User { content } = message else { return false };
    !content.is_empty() && !content.iter().any(|part| matches!(part, UserContent::ToolResult(_)))
}
