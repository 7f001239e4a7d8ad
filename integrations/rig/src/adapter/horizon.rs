//! The horizon: the part of a long history that is read.

use std::ops::Range;

use cupel::conversation;
use rig_core::message::Message;

use super::results::{is_result, speaks};

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

    /// The newest messages, up to the horizon and with what they cannot do without: the beginning
    /// of the exchange in which the view ends, instructions, the question that is being answered
    /// and the user's last words. Older ones are not even counted.
    pub(super) fn back_to(
        horizon: Horizon,
        messages: &[Message],
        mut read_one: impl FnMut(&Message) -> conversation::Message,
    ) -> Self {
        let mut walked: Vec<(usize, conversation::Message)> = Vec::with_capacity(ROOM);
        let positions = horizon.positions(messages, |position, message| {
            let one = read_one(message);
            let tokens = one.tokens;
            walked.push((position, one));
            tokens
        });
        let in_sight = |(position, _): &(usize, _)| positions.binary_search(position).is_ok();
        let read = walked.into_iter().rev().filter(in_sight).map(|(_, one)| one).collect();
        Self { positions, read }
    }

    /// Returns true if the previous request (this one without its newest messages) had another horizon. Its
    /// prefix is then lost.
    pub(super) fn has_moved(
        &self,
        horizon: Horizon,
        messages: &[Message],
        mut read_one: impl FnMut(&Message) -> conversation::Message,
    ) -> bool {
        let is_models = |message: &Message| matches!(message, Message::Assistant(_));
        let Some(known) = messages.iter().rposition(is_models) else { return false };
        let before = messages.get(..known).unwrap_or_default();
        let before = horizon.positions(before, |position, message| {
            let seen = self.positions.binary_search(&position).ok();
            match seen.and_then(|index| self.read.get(index)) {
                Some(read) => read.tokens,
                None => read_one(message).tokens,
            }
        });
        let now = self.positions.iter().take_while(|position| **position < known);
        !before.iter().eq(now)
    }
}

/// Limit of the history that is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Horizon {
    /// At least so many tokens of messages,
    least: i64,
    /// and, if the view begins better there, up to so many.
    most: i64,
}

impl Horizon {
    /// So many tokens of messages.
    pub(super) fn new(tokens: i64) -> Self {
        Self { least: tokens, most: tokens }
    }

    /// As many, and up to a quarter more, so that the view seldom begins elsewhere: what a plan
    /// holds is counted from there.
    pub(super) fn held(tokens: i64) -> Self {
        Self { least: tokens, most: tokens.saturating_add(tokens / 4) }
    }

    /// The positions of the messages in sight, which ascend. `tokens_of` is asked once for each, and
    /// for some before them, from the newest to the oldest.
    fn positions(
        self,
        messages: &[Message],
        mut tokens_of: impl FnMut(usize, &Message) -> i64,
    ) -> Vec<usize> {
        let question = messages.iter().rposition(opens_exchange);
        let words = words_and_their_call(messages);
        let is_needed = |position: usize, message: &Message| {
            question == Some(position)
                || words.contains(&position)
                || matches!(message, Message::System { .. })
        };
        let mut positions = Vec::with_capacity(ROOM);
        let mut tokens = 0_i64;
        // Where the view may begin, from the newest on, once there is enough of it.
        let mut starts: Vec<usize> = Vec::new();
        let mut line = None;
        let mut start = None;
        for (position, message) in messages.iter().enumerate().rev() {
            if start.is_some() && !is_needed(position, message) {
                continue;
            }
            tokens = tokens.saturating_add(tokens_of(position, message));
            positions.push(position);
            if start.is_some() {
                continue;
            }
            // Exchanges that are over go as a whole, and a result only with its call.
            let under_way = question.is_some_and(|question| position > question);
            let is_start = match message {
                Message::System { .. } => false,
                Message::User { .. } => opens_exchange(message),
                Message::Assistant(_) => under_way,
            };
            if is_start && tokens >= self.least {
                starts.push(position);
            }
            if line.is_none() && tokens >= self.most {
                line = starts.first().map(|nearest| roundest(position, *nearest));
            }
            start = line.and_then(|line| starts.iter().find(|start| **start <= line).copied());
        }
        let start = start.unwrap_or_default();
        let in_sight = |position: &usize| {
            let message = messages.get(*position);
            *position >= start || message.is_some_and(|message| is_needed(*position, message))
        };
        positions.retain(in_sight);
        positions.reverse();
        positions
    }
}

/// The number from `least` to `most` that is divisible by the highest power of two: it stays the same
/// for long while both grow.
fn roundest(least: usize, most: usize) -> usize {
    let mut number = most;
    while number > least && number & (number - 1) >= least {
        number &= number - 1;
    }
    number
}

/// Range of the user's last words. They may stand beside tool results, which need their call.
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
    matches!(message, Message::User { content } if speaks(content))
}

/// Returns true if the message starts a new exchange.
fn opens_exchange(message: &Message) -> bool {
    let Message::User { content } = message else { return false };
    speaks(content) && !content.iter().any(is_result)
}

#[cfg(test)]
mod tests {
    use super::roundest;

    #[test]
    fn the_roundest_number_stays_while_the_range_moves_on() {
        assert_eq!(roundest(0, 100), 0);
        assert_eq!((roundest(5, 9), roundest(6, 12), roundest(9, 9)), (8, 8, 9));
        let rounds: Vec<usize> = (40..80).map(|least| roundest(least, least + 10)).collect();
        let moves = rounds.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(rounds.is_sorted() && moves <= 8, "{rounds:?}");
    }
}
