//! What was read of one entry of a conversation: a message, or an item of the Responses API.

use cupel::conversation::{Message, Role};

use serde_json::value::RawValue;

use super::{Object, elements, string};
use crate::count::{Detail, Meter};
use crate::models::ModelFacts;

/// A message for the selection, and what only this crate needs to know of it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) message: Message,
    /// The role's name in the API, or an item's type.
    pub(crate) label: String,
    pub(crate) name: Option<String>,
    pub(crate) uncounted: Vec<String>,
    /// The model wrote it, as part of a turn.
    pub(crate) output: bool,
    /// The model's thoughts before what follows.
    pub(crate) reasoning: bool,
    /// The API may know which thoughts led to it, and want them.
    pub(crate) led_to: bool,
    /// Stands for an item on the server.
    pub(crate) reference: bool,
}

impl Entry {
    /// An entry with nothing in it yet.
    pub(crate) fn new<M: ModelFacts>(meter: &Meter<M>, role: Role, label: &str) -> Self {
        Self {
            message: Message::new(role, "", meter.message(role_name(role, label))),
            label: label.to_owned(),
            name: None,
            uncounted: Vec::new(),
            output: false,
            reasoning: false,
            led_to: false,
            reference: false,
        }
    }

    pub(crate) fn add_tokens(&mut self, tokens: i64) {
        self.message.tokens = self.message.tokens.saturating_add(tokens);
    }

    /// Says why the API would not take it; the first reason counts.
    pub(crate) fn refuse(&mut self, why: &str) {
        self.message.refused.get_or_insert_with(|| why.to_owned());
    }

    /// Notes that the text of this message is a tool's result, which a plan may cut.
    pub(super) fn note_result(&mut self, meter: &Meter, content: &RawValue) {
        let is_text = |part: &&RawValue| {
            let part = Object::parse(part.get()).unwrap_or_default();
            matches!(part.text("type").as_deref(), Some("text" | "input_text" | "output_text"))
        };
        if string(content).is_some() {
            self.message.results = vec![meter.text(&self.message.text)];
        }
        if let Some(parts) = elements(content).filter(|parts| parts.iter().all(is_text)) {
            let text = |part: &&RawValue| Object::parse(part.get())?.text("text").map(Into::into);
            let texts = parts.iter().filter_map(text);
            let tokens = texts.map(|text: String| meter.text(&text)).fold(0, i64::saturating_add);
            self.message.results = vec![tokens];
        }
    }

    /// Adds a line to what a report shows.
    pub(crate) fn add_shown(&mut self, text: &str) {
        let shown = &mut self.message.text;
        if !shown.is_empty() && !text.is_empty() {
            shown.push('\n');
        }
        shown.push_str(text);
    }

    /// Adds text that the model reads.
    pub(crate) fn add_text<M: ModelFacts>(&mut self, meter: &Meter<M>, text: &str) {
        self.add_tokens(meter.text(text));
        self.add_shown(text);
    }

    /// Adds something that is known only as JSON. Data in it is no text: it counts as an image, the
    /// dearest thing it can be.
    pub(super) fn add_json(&mut self, meter: &Meter, json: &str) {
        self.message.note_unseen(json);
        let (text, data) = without_data(json);
        for _ in 0..data {
            self.add_tokens(meter.image(None, Detail::High));
        }
        self.add_text(meter, &text);
    }

    /// Adds a call: the tool's name and what it is called with.
    pub(crate) fn add_call<M: ModelFacts>(&mut self, meter: &Meter<M>, name: &str, input: &str) {
        self.add_tokens(M::FORMAT.per_call.saturating_add(meter.text(name)));
        self.add_tokens(meter.text(input));
        self.add_shown(&format!("{name}({input})"));
        // Errors about room name the tool.
        if self.message.tool.is_none() && is_name(name) {
            self.message.tool = Some(name.to_owned());
        }
    }
}

/// Whether it can be the name of a tool; anything else is text, which an error must not show.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=64).contains(&text.len()) && text.bytes().all(is_part)
}

/// JSON without the contents of `data:` URLs, and how many there were.
fn without_data(json: &str) -> (String, usize) {
    let mut pieces = json.split("\"data:");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    let mut count = 0;
    for piece in pieces {
        count += 1;
        text.push_str("\"data");
        text.push_str(piece.find('"').and_then(|end| piece.get(end..)).unwrap_or_default());
    }
    (text, count)
}

/// An item that is no message still has the role of whoever gave it.
fn role_name(role: Role, label: &str) -> &str {
    match label {
        "system" | "developer" | "user" | "assistant" | "tool" | "function" => label,
        _ => match role {
            Role::System => "system",
            Role::User => "user",
            Role::Tool => "tool",
            _ => "assistant",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_cut_out_of_json() {
        let json = r#"{"a":"data:image/png;base64,QUJD","b":["data:x"],"data:":1}"#;
        assert_eq!(without_data(json), (r#"{"a":"data","b":["data"],"data":1}"#.to_owned(), 3));
        assert_eq!(without_data("{}"), ("{}".to_owned(), 0));
        assert_eq!(without_data("\"data:cut"), ("\"data".to_owned(), 1));
    }
}
