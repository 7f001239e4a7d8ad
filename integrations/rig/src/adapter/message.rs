//! A rig message as the selection needs it.

use std::collections::BTreeSet;

use cupel::conversation::{self, Role};
use rig_core::message::{
    AssistantContent, AssistantMessage, DocumentSourceKind, Message, ToolResultContent, UserContent,
};

use super::count::TokenCounts;
use super::results::{self, is_result, speaks};

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
            let silent = content.is_empty() || content.iter().any(is_result) && !speaks(content);
            let role = if silent { Role::Tool } else { Role::User };
            let mut read = conversation::Message::new(role, "", tokens);
            read.results = results;
            read.words = words_beside_results(content);
            note_media(content, &mut read);
            let answers = results::of(message).map(|result| result.call.wire());
            answers.fold(read, conversation::Message::answers)
        }
        Message::Assistant(turn) => {
            let mut read = conversation::Message::new(Role::Assistant, "", count.assistant(turn));
            note_sealed(turn, &mut read);
            turn.tool_calls().fold(read, |read, call| {
                read.calls(call.id.wire()).tool(call.function.name.as_str())
            })
        }
    }
}

/// Notes the data of media, which texts only name.
fn note_media(content: &[UserContent], read: &mut conversation::Message) {
    let mut note = |data: &DocumentSourceKind| match data {
        DocumentSourceKind::Url(data)
        | DocumentSourceKind::Base64(data)
        | DocumentSourceKind::FileId(data) => read.note_unseen(data),
        DocumentSourceKind::Raw(data) => read.note_unseen(&String::from_utf8_lossy(data)),
        _ => {}
    };
    for part in content {
        match part {
            UserContent::Image(image) => note(&image.data),
            UserContent::Audio(audio) => note(&audio.data),
            UserContent::Video(video) => note(&video.data),
            UserContent::Document(document) => note(&document.data),
            UserContent::ToolResult(result) => {
                for part in &result.content {
                    if let ToolResultContent::Image(image) = part {
                        note(&image.data);
                    }
                }
            }
            UserContent::Text(_) => {}
        }
    }
}

/// Notes what only the provider can read, and the thoughts, which texts leave out.
fn note_sealed(turn: &AssistantMessage, read: &mut conversation::Message) {
    for part in &turn.content {
        match part {
            AssistantContent::Text(_) | AssistantContent::ToolCall(_) => {}
            AssistantContent::Reasoning(reasoning) => {
                read.note_unseen(&reasoning.text);
                if let Some(native) = &reasoning.native {
                    read.note_unseen(&native.item.to_string());
                }
            }
            other => read.note_unseen(&serde_json::to_string(other).unwrap_or_default()),
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
    (!words.trim().is_empty()).then_some(words)
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
                if speaks(content) {
                    words = Some(index);
                }
            }
            Message::User { content } if speaks(content) => (thoughts, words) = (None, None),
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
