//! A rig message as the selection needs it.

use std::collections::BTreeSet;

use cupel::conversation::{self, Role};
use rig_core::message::{AssistantContent, AssistantMessage, Message, UserContent};

use super::count::TokenCounts;
use super::results::{self, is_result};

/// Reads the role of a message, its tool calls and results, and its tokens.
#[inline] // what it returns is large
pub(super) fn read(message: &Message, count: &mut TokenCounts) -> conversation::Message {
    match message {
        Message::System { content } => {
            conversation::Message::new(Role::System, "", count.system(content))
        }
        Message::User { content } => {
            let mut results = Vec::new();
            let tokens = count.user(content, &mut results);
            // Nothing at all is not a question either.
            let role = if content.iter().all(is_result) { Role::Tool } else { Role::User };
            let mut read = conversation::Message::new(role, "", tokens);
            read.results = results;
            read.words = words_beside_results(content);
            let answers = results::of(message).map(|result| result.call.wire());
            answers.fold(read, conversation::Message::answers)
        }
        Message::Assistant(turn) => {
            let read = conversation::Message::new(Role::Assistant, "", count.assistant(turn));
            turn.tool_calls().fold(read, |read, call| {
                read.calls(call.id.wire()).tool(call.function.name.as_str())
            })
        }
    }
}

/// The user's own words, where results of tools stand beside them.
fn words_beside_results(content: &[UserContent]) -> Option<String> {
    if !content.iter().any(is_result) {
        return None;
    }
    let words = content.iter().filter_map(|part| match part {
        UserContent::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let words = words.collect::<Vec<_>>().join("\n");
    (!words.is_empty()).then_some(words)
}

/// Notes for each message of the model which one before it in its exchange it needs: the last that
/// has signed thoughts, since some APIs want a turn to begin with them, and the words that the user
/// said beside results.
pub(super) fn note_needs(read: &mut [conversation::Message], messages: &[&Message]) {
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

/// Returns true if all calls have results. Calls without results are not sent, and nothing depends on them.
fn is_answered(turn: &AssistantMessage, after: &[&Message]) -> bool {
    let next = after.iter().find(|message| !matches!(message, Message::System { .. }));
    let results = next.into_iter().flat_map(|message| results::of(message));
    let results: BTreeSet<_> = results.map(|result| result.call.wire()).collect();
    turn.tool_calls().all(|call| results.contains(&call.id.wire()))
}
