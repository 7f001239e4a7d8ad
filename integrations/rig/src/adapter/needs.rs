//! Which messages of an exchange are not sent without an earlier one of it.

use std::collections::BTreeSet;

use cupel::conversation::Message as Read;
use rig_core::message::{AssistantContent, AssistantMessage, Message};

use super::message::is_result;

/// Notes for each message of the model which one before it in its exchange it needs: the last that
/// has signed thoughts, since some APIs want a turn to begin with them, and the words that the user
/// said beside results.
pub(super) fn note(read: &mut [Read], messages: &[&Message]) {
    let (mut thoughts, mut words) = (None, None);
    for (index, (read, message)) in read.iter_mut().zip(messages).enumerate() {
        match message {
            Message::System { .. } => {}
            Message::User { content } if content.iter().any(is_result) => {
                if !content.iter().all(is_result) {
                    words = Some(index);
                }
            }
            Message::User { content } if !content.is_empty() => (thoughts, words) = (None, None),
            Message::User { .. } => {}
            Message::Assistant(turn) if turn.content.iter().any(is_signed) => {
                read.needs = words;
                let after = messages.get(index + 1..).unwrap_or_default();
                thoughts = is_answered(turn, after).then_some(index);
            }
            // The later one needs the other in its turn.
            Message::Assistant(_) => read.needs = thoughts.max(words),
        }
    }
}

fn is_signed(part: &AssistantContent) -> bool {
    matches!(part, AssistantContent::Reasoning(reasoning) if reasoning.native.is_some())
}

/// Whether all calls have their results: others are not sent, and nothing can need them.
fn is_answered(turn: &AssistantMessage, after: &[&Message]) -> bool {
    let next = after.iter().find(|message| !matches!(message, Message::System { .. }));
    let results: BTreeSet<_> = match next {
        Some(Message::User { content }) => {
            let results = content.iter().filter_map(|part| match part {
                rig_core::message::UserContent::ToolResult(result) => Some(result.call.wire()),
                _ => None,
            });
            results.collect()
        }
        _ => BTreeSet::new(),
    };
    turn.tool_calls().all(|call| results.contains(&call.id.wire()))
}
