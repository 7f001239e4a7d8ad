//! Results of tools in messages: their texts, and those that cannot be sent.

use std::borrow::Cow;

use cupel::layer::RefusedItem;
use cupel::{ContextItem, ContextKind, ContextSource, CupelError};
use rig_core::completion::history::NO_TOOL_OUTPUT;
use rig_core::message::{Message, ToolResult, ToolResultContent, UserContent};

use super::count::TokenCounts;

pub(super) fn is_result(part: &UserContent) -> bool {
    matches!(part, UserContent::ToolResult(_))
}

/// Returns true if a user says something in this content: words, or media.
pub(super) fn speaks(content: &[UserContent]) -> bool {
    content.iter().any(|part| match part {
        UserContent::ToolResult(_) => false,
        UserContent::Text(text) => !text.text.trim().is_empty(),
        _ => true,
    })
}

/// The results in a message.
pub(super) fn of(message: &Message) -> impl Iterator<Item = &ToolResult> {
    let content = match message {
        Message::User { content } => content.as_slice(),
        _ => &[],
    };
    content.iter().filter_map(|part| match part {
        UserContent::ToolResult(result) => Some(result),
        _ => None,
    })
}

/// The text of a result by its number in its message.
pub(super) fn text(message: &Message, number: usize) -> Option<Cow<'_, str>> {
    let mut texts = of(message).flat_map(|result| &result.content).filter_map(|part| match part {
        ToolResultContent::Text(text) => Some(Cow::Borrowed(&*text.text)),
        ToolResultContent::Json { value } => Some(Cow::Owned(value.to_string())),
        ToolResultContent::Image(_) => None,
    });
    texts.nth(number)
}

/// Puts an excerpt in the place of such a text.
pub(super) fn replace(message: &mut Message, number: usize, excerpt: &str) {
    let Message::User { content } = message else { return };
    let parts = content.iter_mut().filter_map(|part| match part {
        UserContent::ToolResult(result) => Some(&mut result.content),
        _ => None,
    });
    let is_text = |part: &&mut ToolResultContent| !matches!(part, ToolResultContent::Image(_));
    if let Some(part) = parts.flatten().filter(is_text).nth(number) {
        // Rig itself says where nothing is left, in its own words for errors.
        *part = ToolResultContent::text(if excerpt == NO_TOOL_OUTPUT { "" } else { excerpt });
    }
}

/// Takes results that would be refused out of messages that have the user's own words in them, so
/// that the words are not refused with them. All other blocks stay as they are.
pub(super) fn without_broken(
    messages: &mut [Message],
    count: &mut TokenCounts,
) -> Result<Vec<RefusedItem>, CupelError> {
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
                count.tool_result(&result, &mut Vec::new()),
            )
            .kind(ContextKind::tool_output())
            .source(ContextSource::tool());
            let why = format!("result without its tool call {:?}", result.call.wire());
            refused.push(RefusedItem { item: item.build()?, why });
        }
    }
    Ok(refused)
}

/// Returns true if the message holds both user words and tool results.
fn is_mixed(message: &Message) -> bool {
    let Message::User { content } = message else { return false };
    content.iter().any(is_result) && !content.iter().all(is_result)
}

/// Returns true if the message belongs to a group that answers all calls before it, each once.
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
    let mut answers: Vec<_> = answers.flat_map(of).map(|result| result.call.wire()).collect();
    let mut calls: Vec<_> = turn.tool_calls().map(|call| call.id.wire()).collect();
    answers.sort_unstable();
    calls.sort_unstable();
    answers == calls
}

#[cfg(test)]
mod tests {
    use rig_core::message::{ToolCall, ToolFunction, ToolName};

    use super::*;

    #[test]
    fn texts_and_json_are_found_by_their_number_and_images_are_passed_over() {
        let name = ToolName::new("look").unwrap();
        let call = ToolCall::from_wire("a", ToolFunction::new(name, serde_json::json!({})));
        let first = call.result(vec![ToolResultContent::text("x")]);
        let second = call.result(vec![
            ToolResultContent::image_base64("aGk=", None, None),
            ToolResultContent::json(serde_json::json!({"y": 1})),
        ]);
        let mut message = Message::tool_results(vec![first, second]);
        assert_eq!(text(&message, 0).as_deref(), Some("x"));
        assert_eq!(text(&message, 1).as_deref(), Some(r#"{"y":1}"#));
        assert_eq!(text(&message, 2), None);
        replace(&mut message, 1, "short");
        assert_eq!(text(&message, 1).as_deref(), Some("short"));
        assert_eq!(text(&message, 0).as_deref(), Some("x"));
        assert_eq!(text(&Message::user("words"), 0), None);
    }
}
