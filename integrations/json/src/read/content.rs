//! The content of a message: a text, or parts of several types.

use serde_json::value::RawValue;

use super::{Entry, Object, elements, string};
use crate::count::{Detail, Meter, audio_tokens, file_tokens};

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
        self.add_tokens(meter.image(url.as_deref(), Detail::named(detail.as_deref())));
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
                self.add_tokens(file_tokens(meter, &data));
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
