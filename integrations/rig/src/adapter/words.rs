//! A user's words beside tool results that cannot be sent.

use cupel::layer::Refused;
use cupel::{ContextItem, ContextKind, ContextSource, CupelError};
use rig_core::message::{Message, UserContent};

use super::count::Count;
use super::message::{is_result, tool_result};

/// Takes results that would be refused out of messages that have the user's own words in them, so
/// that the words are not refused with them. All other blocks stay as they are.
pub(super) fn without_broken_results(
    messages: &mut [Message],
    count: &mut Count,
) -> Result<Vec<Refused>, CupelError> {
    let mut refused = Vec::new();
    for index in 0..messages.len() {
        if !messages.get(index).is_some_and(is_mixed) || is_answer(messages, index) {
            continue;
        }
        let Some(Message::User { content }) = messages.get_mut(index) else { continue };
        let (results, words): (Vec<_>, Vec<_>) =
            std::mem::take(content).into_iter().partition(is_result);
        *content = words;
        for result in results {
            let UserContent::ToolResult(result) = result else { continue };
            let item = ContextItem::builder(
                format!("[{index}] result of {}", result.name),
                tool_result(&result, count, &mut Vec::new()),
            )
            .kind(ContextKind::tool_output())
            .source(ContextSource::tool());
            let why = format!("result without its tool call {:?}", result.call.wire());
            refused.push(Refused { item: item.build()?, why });
        }
    }
    Ok(refused)
}

/// Whether a user's words stand beside results of tools.
fn is_mixed(message: &Message) -> bool {
    let Message::User { content } = message else { return false };
    content.iter().any(is_result) && !content.iter().all(is_result)
}

/// Whether the message is one of those that together answer all calls before them, each once.
fn is_answer(messages: &[Message], index: usize) -> bool {
    let has_results = |message: &Message| match message {
        Message::System { .. } => true,
        Message::User { content } => content.iter().any(is_result),
        Message::Assistant(_) => false,
    };
    let before = messages.get(..index).unwrap_or_default();
    let Some(start) = before.iter().rposition(|message| !has_results(message)) else {
        return false;
    };
    let Some(Message::Assistant(turn)) = before.get(start) else { return false };
    let answers = messages.iter().skip(start + 1).take_while(|message| has_results(message));
    let mut answers: Vec<_> = answers
        .flat_map(|message| match message {
            Message::User { content } => content.as_slice(),
            _ => &[],
        })
        .filter_map(|part| match part {
            UserContent::ToolResult(result) => Some(result.call.wire()),
            _ => None,
        })
        .collect();
    let mut calls: Vec<_> = turn.tool_calls().map(|call| call.id.wire()).collect();
    answers.sort_unstable();
    calls.sort_unstable();
    answers == calls
}
