//! A rig message as the selection sees it.

use cupel::conversation::{Message as Seen, Role};
use rig_core::message::{
    AssistantContent, DocumentSourceKind, Message, Text, ToolResult, ToolResultContent, UserContent,
};

use super::count::{Count, PER_CALL, PER_MESSAGE};

/// Who speaks, what it costs, which calls it makes and answers, and a text for reports.
pub(super) fn seen(message: &Message, count: &Count) -> Seen {
    let mut parts = Parts { count, text: String::new(), tokens: PER_MESSAGE };
    match message {
        Message::System { content } => {
            parts.plain(content);
            parts.into_seen(Role::System)
        }
        Message::User { content } => {
            let mut answers = Vec::new();
            let mut own_words = content.is_empty();
            for part in content {
                match part {
                    UserContent::ToolResult(result) => {
                        answers.push(result.call.to_string());
                        parts.result(result);
                    }
                    other => {
                        own_words = true;
                        parts.user(other);
                    }
                }
            }
            let role = if own_words { Role::User } else { Role::Tool };
            answers.into_iter().fold(parts.into_seen(role), Seen::answers)
        }
        Message::Assistant(turn) => {
            turn.content.iter().for_each(|part| parts.assistant(part));
            let calls = turn.tool_calls().map(|call| call.id.to_string());
            calls.fold(parts.into_seen(Role::Assistant), Seen::calls)
        }
    }
}

/// The parts of a message, summed up.
struct Parts<'a> {
    count: &'a Count,
    text: String,
    tokens: i64,
}

impl Parts<'_> {
    fn into_seen(self, role: Role) -> Seen {
        Seen::new(role, self.text, self.tokens)
    }

    fn add(&mut self, text: &str, tokens: i64) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(text);
        self.tokens = self.tokens.saturating_add(tokens);
    }

    fn plain(&mut self, text: &str) {
        self.add(text, self.count.text(text));
    }

    fn user(&mut self, part: &UserContent) {
        let media = &self.count.media;
        match part {
            UserContent::Text(text) => self.plain(&text.text),
            UserContent::ToolResult(result) => self.result(result),
            UserContent::Image(image) => self.add("[image]", media.image(image)),
            UserContent::Audio(audio) => self.add("[audio]", media.audio(audio)),
            UserContent::Video(video) => self.add("[video]", media.video(video)),
            UserContent::Document(document) => match &document.data {
                DocumentSourceKind::String(text) => self.plain(text),
                _ => self.add("[document]", media.file(document)),
            },
        }
    }

    fn result(&mut self, result: &ToolResult) {
        // Some APIs want the name beside the result, so it counts.
        self.plain(result.name.as_str());
        self.text.push(':');
        for part in &result.content {
            match part {
                ToolResultContent::Text(text) => self.plain(&text.text),
                ToolResultContent::Json { value } => self.plain(&value.to_string()),
                ToolResultContent::Image(image) => {
                    self.add("[image]", self.count.media.image(image));
                }
            }
        }
    }

    fn assistant(&mut self, part: &AssistantContent) {
        match part {
            AssistantContent::Text(Text { text, .. }) => self.plain(text),
            AssistantContent::ToolCall(call) => {
                let arguments = match &call.function.invalid_arguments {
                    Some(text) => text.clone(),
                    None => serde_json::to_string(&call.function.arguments).unwrap_or_default(),
                };
                let name = call.function.name.as_str();
                let tokens = self.count.text(name).saturating_add(self.count.text(&arguments));
                self.add(&format!("{name}({arguments})"), tokens.saturating_add(PER_CALL));
            }
            AssistantContent::Reasoning(reasoning) => {
                let tokens = match &reasoning.native {
                    // What is withheld is sent as a provider's own, unreadable item.
                    Some(native) if reasoning.redacted => unreadable(&native.item),
                    _ => self.count.text(&reasoning.text),
                };
                self.add("[reasoning]", tokens);
            }
            AssistantContent::Image(image) => self.add("[image]", self.count.media.image(image)),
            AssistantContent::Opaque(opaque) => {
                self.add("[provider item]", unreadable(&opaque.item));
            }
            // Kinds of content that rig may add: at least what they are as JSON.
            other => self.add("[other]", self.count.json(other)),
        }
    }
}

/// A provider's item that only the provider can read: four characters to a token.
fn unreadable(item: &serde_json::Value) -> i64 {
    i64::try_from(item.to_string().len().div_ceil(4)).unwrap_or(i64::MAX)
}
