//! A rig message as the selection sees it.

use cupel::conversation::{Message as Seen, Role};
use rig_core::message::{
    AssistantContent, DocumentSourceKind, Message, Text, ToolResult, ToolResultContent, UserContent,
};

use super::count::{Count, PER_CALL, PER_MESSAGE};

/// Who speaks, which calls the message makes and answers, and what it costs.
#[inline] // what it returns is large
pub(super) fn seen(message: &Message, count: &mut Count) -> (Seen, i64) {
    let mut cost = 0;
    let mut spoken = |role, tokens: i64| {
        cost = tokens.saturating_add(PER_MESSAGE);
        Seen::new(role, "", cost)
    };
    let seen = match message {
        Message::System { content } => spoken(Role::System, count.text(content)),
        Message::User { content } => {
            let tokens = sum(content, |part| user(part, count));
            let is_result = |part: &UserContent| matches!(part, UserContent::ToolResult(_));
            // Nothing at all is not a question either.
            let role = if content.iter().all(is_result) { Role::Tool } else { Role::User };
            let answers = content.iter().filter_map(|part| match part {
                UserContent::ToolResult(result) => Some(result.call.wire()),
                _ => None,
            });
            answers.fold(spoken(role, tokens), Seen::answers)
        }
        Message::Assistant(turn) => {
            let tokens = sum(&turn.content, |part| assistant(part, count));
            let calls = turn.tool_calls().map(|call| call.id.wire());
            calls.fold(spoken(Role::Assistant, tokens), Seen::calls)
        }
    };
    (seen, cost)
}

fn sum<T>(parts: &[T], tokens: impl FnMut(&T) -> i64) -> i64 {
    parts.iter().map(tokens).fold(0, i64::saturating_add)
}

fn user(part: &UserContent, count: &mut Count) -> i64 {
    match part {
        UserContent::Text(text) => count.text(&text.text),
        UserContent::ToolResult(result) => tool_result(result, count),
        UserContent::Image(image) => count.media.image(image),
        UserContent::Audio(audio) => count.media.audio(audio),
        UserContent::Video(video) => count.media.video(video),
        UserContent::Document(document) => match &document.data {
            DocumentSourceKind::String(text) => count.text(text),
            _ => count.media.file(document),
        },
    }
}

pub(super) fn tool_result(result: &ToolResult, count: &mut Count) -> i64 {
    // Some APIs want the name beside the result, so it counts.
    let name = count.text(&result.name);
    let parts = sum(&result.content, |part| match part {
        ToolResultContent::Text(text) => count.text(&text.text),
        ToolResultContent::Json { value } => count.json(value),
        ToolResultContent::Image(image) => count.media.image(image),
    });
    name.saturating_add(parts)
}

fn assistant(part: &AssistantContent, count: &mut Count) -> i64 {
    match part {
        AssistantContent::Text(Text { text, .. }) => count.text(text),
        AssistantContent::ToolCall(call) => {
            let arguments = match &call.function.invalid_arguments {
                Some(text) => count.text(text),
                None => count.json(&call.function.arguments),
            };
            count.text(&call.function.name).saturating_add(arguments).saturating_add(PER_CALL)
        }
        AssistantContent::Reasoning(reasoning) => match &reasoning.native {
            // What is withheld is sent as a provider's own, unreadable item.
            Some(native) if reasoning.redacted || reasoning.text.trim().is_empty() => {
                unreadable(&native.item)
            }
            _ => count.text(&reasoning.text),
        },
        AssistantContent::Image(image) => count.media.image(image),
        AssistantContent::Opaque(opaque) => unreadable(&opaque.item),
        // Kinds of content that rig may add: what they are as JSON.
        other => count.json(other),
    }
}

/// A provider's item that only the provider can read: four characters to a token.
fn unreadable(item: &serde_json::Value) -> i64 {
    i64::try_from(item.to_string().len().div_ceil(4)).unwrap_or(i64::MAX)
}
