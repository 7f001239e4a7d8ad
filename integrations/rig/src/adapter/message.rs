//! A rig message as the selection needs it, counted in the form in which rig sends it.

use cupel::conversation::{self, Role};
use rig_core::completion::history::NO_TOOL_OUTPUT;
use rig_core::message::{
    AssistantContent, DocumentSourceKind, Message, Text, ToolCall, ToolResult, ToolResultContent,
    UserContent,
};

use super::count::Count;

/// Who speaks, which calls the message makes and answers, and what it costs.
#[inline] // what it returns is large
pub(super) fn read(message: &Message, count: &mut Count) -> conversation::Message {
    match message {
        Message::System { content } => {
            let frame = count.frame(Role::System, [Role::System]);
            let tokens = count.text(content).saturating_add(frame);
            conversation::Message::new(Role::System, "", tokens)
        }
        Message::User { content } => {
            let mut results = Vec::new();
            let tokens = sum(content, |part| user(part, count, &mut results));
            let tokens = tokens.saturating_add(frame(content, count));
            // Nothing at all is not a question either.
            let role = if content.iter().all(is_result) { Role::Tool } else { Role::User };
            let answers = content.iter().filter_map(|part| match part {
                UserContent::ToolResult(result) => Some(result.call.wire()),
                _ => None,
            });
            let mut message = conversation::Message::new(role, "", tokens);
            message.results = results;
            message.words = words_beside_results(content);
            answers.fold(message, conversation::Message::answers)
        }
        Message::Assistant(turn) => {
            let tokens = sum(&turn.content, |part| assistant(part, count));
            let frame = count.frame(Role::Assistant, turn.content.iter().map(|_| Role::Assistant));
            let tokens = tokens.saturating_add(frame);
            let message = conversation::Message::new(Role::Assistant, "", tokens);
            let calls = turn.tool_calls().map(|call| call.id.wire());
            calls.fold(message, conversation::Message::calls)
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

pub(super) fn is_result(part: &UserContent) -> bool {
    matches!(part, UserContent::ToolResult(_))
}

fn sum<T>(parts: &[T], tokens: impl FnMut(&T) -> i64) -> i64 {
    parts.iter().map(tokens).fold(0, i64::saturating_add)
}

/// What is sent around a user's message. In OpenAI's formats each result is a message of its own.
fn frame(content: &[UserContent], count: &Count) -> i64 {
    let role = |part: &UserContent| match part {
        part if count.tools && is_result(part) => Role::Tool,
        _ => Role::User,
    };
    count.frame(Role::User, content.iter().map(role))
}

fn user(part: &UserContent, count: &mut Count, results: &mut Vec<i64>) -> i64 {
    match part {
        UserContent::Text(text) => count.text(&text.text),
        UserContent::ToolResult(result) => tool_result(result, count, results),
        UserContent::Image(image) => count.media.image(image),
        UserContent::Audio(audio) => count.media.audio(audio),
        UserContent::Video(video) => count.media.video(video),
        UserContent::Document(document) => match &document.data {
            DocumentSourceKind::String(text) => count.text(text),
            _ => count.media.file(document),
        },
    }
}

/// A tool's result without what is sent around its message. `texts` gets the tokens of each part of
/// it that is [text](super::result).
pub(super) fn tool_result(result: &ToolResult, count: &mut Count, texts: &mut Vec<i64>) -> i64 {
    let heading = match (count.tools, result.is_error) {
        (true, _) => count.text(&result.name),
        (false, false) => count.text(&format!("[tool {} result] ", result.name)),
        (false, true) => count.text(&format!("[tool {} error] ", result.name)),
    };
    let parts = sum(&result.content, |part| {
        let tokens = match part {
            ToolResultContent::Text(text) => count.text(&text.text),
            ToolResultContent::Json { value } => count.json(value),
            ToolResultContent::Image(image) => return count.media.image(image),
        };
        texts.push(tokens);
        tokens
    });
    // Rig says so where a result says nothing, and puts each part on a line of its own.
    let parts = if parts == 0 { count.text(NO_TOOL_OUTPUT) } else { parts };
    let lines = i64::try_from(result.content.len().saturating_sub(1)).unwrap_or(i64::MAX);
    let nested = lines.saturating_add(1).saturating_mul(count.nested());
    heading.saturating_add(parts).saturating_add(lines).saturating_add(nested)
}

fn assistant(part: &AssistantContent, count: &mut Count) -> i64 {
    match part {
        AssistantContent::Text(Text { text, .. }) => count.text(text),
        AssistantContent::ToolCall(call) => tool_call(call, count),
        AssistantContent::Reasoning(reasoning) => match &reasoning.native {
            // What is withheld is sent as a provider's own, unreadable item.
            Some(native) if reasoning.redacted || reasoning.text.trim().is_empty() => {
                unreadable(&native.item)
            }
            Some(native) => count.sealed(&native.item, count.text(&reasoning.text)),
            None => count.text(&reasoning.text),
        },
        AssistantContent::Image(image) => count.media.image(image),
        AssistantContent::Opaque(opaque) => unreadable(&opaque.item),
        // Kinds of content that rig may add: what they are as JSON.
        other => count.json(other),
    }
}

fn tool_call(call: &ToolCall, count: &mut Count) -> i64 {
    let arguments = match &call.function.invalid_arguments {
        Some(text) => count.text(text),
        None => count.json(&call.function.arguments),
    };
    let name = &call.function.name;
    let frame = if count.tools {
        count.format.per_call.saturating_add(count.text(name))
    } else {
        count.text(&format!("[called tool {name} with ")).saturating_add(count.text("]"))
    };
    arguments.saturating_add(frame)
}

/// A provider's item that only the provider can read: four characters to a token.
fn unreadable(item: &serde_json::Value) -> i64 {
    i64::try_from(item.to_string().len().div_ceil(4)).unwrap_or(i64::MAX)
}
