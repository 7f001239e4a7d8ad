//! Texts of messages: for reports, for judges, and to be quoted.

use std::borrow::Cow;
use std::io;

use cupel::ContextItem;
use cupel::conversation::{self, Texts};
use rig_core::message::{
    AssistantContent, DocumentSourceKind, Message, ToolResultContent, UserContent,
};
use serde::Serialize;

use super::rest::RigRest;
use super::results;
use crate::document::item_text;

impl<R> Texts for &RigRest<R> {
    fn message<'a>(&'a self, index: usize, _: &'a conversation::Message) -> Cow<'a, str> {
        let mut text = String::new();
        if let Some(message) = self.seen(index) {
            // A plan quotes it; scored messages are judged by what reports show of them, at full length.
            write_parts(message, &mut Brief::new(&mut text, usize::MAX, self.planned));
        }
        text.into()
    }

    fn result<'a>(
        &'a self,
        index: usize,
        _: &'a conversation::Message,
        number: usize,
    ) -> Option<Cow<'a, str>> {
        results::text(self.seen(index)?, number)
    }

    fn source<'a>(&'a self, item: &'a ContextItem) -> Cow<'a, str> {
        item_text(item)
    }
}

/// Adds the text of a message to the end of `out`: its first so many bytes, and media by name.
pub(super) fn write(message: &Message, limit: usize, out: &mut String) {
    write_parts(message, &mut Brief::new(out, limit, false));
}

fn write_parts(message: &Message, text: &mut Brief<'_>) {
    match message {
        Message::System { content } => text.part(content),
        Message::User { content } => content.iter().for_each(|part| user(part, text)),
        Message::Assistant(turn) => turn.content.iter().for_each(|part| assistant(part, text)),
    }
}

fn user(part: &UserContent, text: &mut Brief<'_>) {
    match part {
        UserContent::Text(part) => text.part(&part.text),
        UserContent::Image(_) => text.part("[image]"),
        UserContent::Audio(_) => text.part("[audio]"),
        UserContent::Video(_) => text.part("[video]"),
        UserContent::Document(document) => match &document.data {
            DocumentSourceKind::String(part) => text.part(part),
            _ => text.part("[document]"),
        },
        UserContent::ToolResult(result) => {
            text.part(&result.name);
            text.push(":");
            for part in &result.content {
                match part {
                    ToolResultContent::Text(part) => text.part(&part.text),
                    ToolResultContent::Image(_) => text.part("[image]"),
                    ToolResultContent::Json { value } => {
                        text.part("");
                        text.json(value);
                    }
                }
            }
        }
    }
}

fn assistant(part: &AssistantContent, text: &mut Brief<'_>) {
    match part {
        AssistantContent::Text(part) => text.part(&part.text),
        AssistantContent::ToolCall(call) => {
            text.call(&call.function.name);
            match &call.function.invalid_arguments {
                Some(arguments) => text.push(arguments),
                None => text.json(&call.function.arguments),
            }
            text.push(")");
        }
        AssistantContent::Image(_) => text.part("[image]"),
        _ if text.quoted => {}
        AssistantContent::Reasoning(_) => text.part("[reasoning]"),
        AssistantContent::Opaque(_) => text.part("[provider item]"),
        _ => text.part("[other]"),
    }
}

/// A text that ends with an ellipsis where there is no more room.
struct Brief<'a> {
    out: &'a mut String,
    /// Bytes that are left.
    left: usize,
    begun: bool,
    ended: bool,
    /// Leaves out thoughts and whatever only its provider can read.
    quoted: bool,
}

impl<'a> Brief<'a> {
    fn new(out: &'a mut String, left: usize, quoted: bool) -> Self {
        Self { out, left, begun: false, ended: false, quoted }
    }

    /// A part of its own, set off from the one before.
    fn part(&mut self, text: &str) {
        if self.begun {
            self.push(" ");
        }
        self.begun = true;
        self.push(text);
    }

    /// The beginning of a call, on a line of its own. Whatever is cut off, the tool's name is not.
    fn call(&mut self, tool: &str) {
        if self.begun {
            self.out.push('\n');
        }
        self.begun = true;
        self.out.push_str(tool);
        self.out.push_str(if self.ended { "(…" } else { "(" });
        self.left = self.left.saturating_sub(tool.len() + 1);
    }

    fn push(&mut self, text: &str) {
        if self.ended || text.is_empty() {
            return;
        }
        if text.len() <= self.left {
            self.out.push_str(text);
            self.left -= text.len();
            return;
        }
        let (fits, _) = text.split_at(text.floor_char_boundary(self.left));
        self.out.push_str(fits);
        self.out.push('…');
        self.ended = true;
    }

    fn json(&mut self, value: &impl Serialize) {
        // It fails only to stop where the text ends.
        let _ = serde_json::to_writer(self, value);
    }
}

impl io::Write for Brief<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.ended {
            return Err(io::ErrorKind::WriteZero.into());
        }
        // JSON is written in pieces that are texts.
        self.push(str::from_utf8(bytes).unwrap_or_default());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
