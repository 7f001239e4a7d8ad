//! One entry of a conversation as it was read: a message, or an item of the Responses API.

use cupel::conversation::{Message, Role};
use serde_json::value::RawValue;

use super::Meter;
use crate::media::{Detail, audio_tokens, file_tokens, size_of_data_url};
use crate::models::{Meter as AnyMeter, ModelFacts};
use crate::object::{Object, elements, string};

/// API that a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// Chat Completions: `messages`.
    Chat,
    /// The Responses API: `input`.
    Responses,
    /// Anthropic's Messages: `messages`, for [`MessagesAdapter`](crate::MessagesAdapter).
    Messages,
}

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
    pub(crate) fn new<M: ModelFacts>(meter: &AnyMeter<M>, role: Role, label: &str) -> Self {
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
    pub(crate) fn add_text<M: ModelFacts>(&mut self, meter: &AnyMeter<M>, text: &str) {
        self.add_tokens(meter.text(text));
        self.add_shown(text);
    }

    /// Adds something that is known only as JSON. Data in it is no text: it counts as an image, the
    /// dearest thing it can be.
    pub(super) fn add_json(&mut self, meter: &Meter, json: &str) {
        self.message.note_unseen(json);
        let (text, data) = without_data(json);
        for _ in 0..data {
            self.add_tokens(image_tokens(meter, None, Detail::High));
        }
        self.add_text(meter, &text);
    }

    /// Adds a call: the tool's name and what it is called with.
    pub(crate) fn add_call<M: ModelFacts>(&mut self, meter: &AnyMeter<M>, name: &str, input: &str) {
        self.add_tokens(meter.format.per_call.saturating_add(meter.text(name)));
        self.add_tokens(meter.input(input));
        self.add_shown(&format!("{name}({input})"));
        if !name.is_empty() {
            self.message.tools.push(name.to_owned());
        }
    }
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

impl Entry {
    /// Adds content; whether there was any.
    pub(super) fn add_content(&mut self, meter: &Meter, content: &RawValue) -> bool {
        if let Some(text) = string(content) {
            self.add_text(meter, &text);
            return true;
        }
        let Some(parts) = elements(content) else {
            self.add_unknown(meter, "", content.get());
            return true;
        };
        for part in &parts {
            match Object::parse(part.get()) {
                Some(object) => self.add_part(meter, &object, part.get()),
                // Some servers take bare strings among the parts.
                None => match string(part) {
                    Some(text) => self.add_text(meter, &text),
                    None => self.add_unknown(meter, "", part.get()),
                },
            }
        }
        !parts.is_empty()
    }

    fn add_part(&mut self, meter: &Meter, part: &Object<'_>, json: &str) {
        let kind = part.text("type").unwrap_or_default();
        match &*kind {
            "refusal" => self.add_text(meter, &part.text("refusal").unwrap_or_default()),
            "image_url" | "input_image" | "computer_screenshot" | "image" => {
                self.add_image(meter, part);
            }
            "input_audio" => {
                let wrapped = part.object("input_audio");
                let data = wrapped.as_ref().unwrap_or(part).text("data");
                let data = data.unwrap_or_default();
                self.message.note_unseen(&data);
                self.add_tokens(audio_tokens(&data));
                self.add_shown("[audio]");
            }
            "file" => self.add_file(meter, &part.object("file").unwrap_or_default()),
            "input_file" => self.add_file(meter, part),
            _ => match part.text("text") {
                Some(text) => self.add_text(meter, &text),
                None => self.add_unknown(meter, &kind, json),
            },
        }
    }

    /// An image: an address or the data itself, in an object of its own or not.
    fn add_image(&mut self, meter: &Meter, part: &Object<'_>) {
        let wrapped = part.object("image_url");
        let (url, detail) = match &wrapped {
            Some(image) => (image.text("url"), image.text("detail")),
            None => (part.text("image_url"), part.text("detail")),
        };
        for seen in [&url, &detail].into_iter().flatten() {
            self.message.note_unseen(seen);
        }
        self.add_tokens(image_tokens(meter, url.as_deref(), Detail::named(detail.as_deref())));
        self.add_shown("[image]");
    }

    fn add_file(&mut self, meter: &Meter, file: &Object<'_>) {
        let name = file.text("filename");
        if let Some(name) = &name {
            self.add_tokens(meter.text(name));
        }
        let url = file.text("file_url");
        let in_url = || url.clone().filter(|url| url.starts_with("data:"));
        match file.text("file_data").or_else(in_url) {
            Some(data) => {
                self.message.note_unseen(&data);
                self.add_tokens(file_tokens(&data, meter.model.images, |text| meter.text(text)));
            }
            None => {
                let which = file.text("file_id").or(url);
                which.iter().for_each(|which| self.message.note_unseen(which));
                self.uncounted.push(format!("file {}", which.unwrap_or_default()));
            }
        }
        let shown = name.map_or_else(|| "[file]".to_owned(), |name| format!("[file {name}]"));
        self.add_shown(&shown);
    }

    /// A part of a type this crate does not know: its JSON is counted, and the report says so.
    fn add_unknown(&mut self, meter: &Meter, kind: &str, json: &str) {
        self.add_json(meter, json);
        self.uncounted.push(format!("content of type {kind:?}"));
    }
}

/// Tokens of an image by its address, which may be the image itself.
pub(crate) fn image_tokens(meter: &Meter, url: Option<&str>, detail: Detail) -> i64 {
    meter.model.images.tokens(url.and_then(size_of_data_url), detail)
}

/// One message, for a hook that sets its priority, relevance and the like.
///
/// See [`OpenAiAdapter::attributes`](crate::OpenAiAdapter::attributes).
#[derive(Debug, Clone, Copy)]
pub struct MessageView<'a> {
    pub(crate) index: usize,
    pub(crate) entry: &'a Entry,
    pub(crate) json: &'a str,
}

impl<'a> MessageView<'a> {
    /// Its position in the request.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its role (`"user"`), or the type of an item that is no message (`"function_call"`).
    #[must_use]
    pub fn role(&self) -> &'a str {
        &self.entry.label
    }

    /// The name of whoever spoke, where one is given.
    #[must_use]
    pub fn name(&self) -> Option<&'a str> {
        self.entry.name.as_deref()
    }

    /// Its text; images, sounds and files as `[image]`, `[audio]`, `[file]`, calls as
    /// `name(arguments)`.
    #[must_use]
    pub fn text(&self) -> &'a str {
        &self.entry.message.text
    }

    /// Its tokens, with what the format adds.
    #[must_use]
    pub fn tokens(&self) -> i64 {
        self.entry.message.tokens
    }

    /// The message as it is sent.
    #[must_use]
    pub fn json(&self) -> &'a str {
        self.json
    }
}

/// Text of a user's message. None for the messages of others, and for one that says nothing: no words,
/// no image, no file, no audio. All APIs write such messages alike.
pub(crate) fn user_text(json: &str) -> Option<String> {
    let message = Object::parse(json)?;
    if message.text("role")? != "user" {
        return None;
    }
    let content = message.raw("content")?;
    if let Some(text) = string(content) {
        return Some(text.into_owned()).filter(|text| !text.trim().is_empty());
    }
    let parts: Vec<Object<'_>> =
        elements(content)?.into_iter().filter_map(|part| Object::parse(part.get())).collect();
    // In Anthropic's Messages the results of tools come as a user's, too.
    let of_tool = parts.iter().any(|part| part.is("tool_result"));
    let speaks = |part: &Object<'_>| part.text("text").is_none_or(|text| !text.trim().is_empty());
    let texts: Vec<_> = parts.iter().filter_map(|part| part.text("text")).collect();
    (!of_tool && parts.iter().any(speaks)).then(|| texts.join("\n"))
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
