//! Formats of recordings: request bodies of the three APIs, logs of requests with their answers, batch
//! files, fine-tuning files, and lists of messages.

use std::collections::BTreeMap;

use cupel_json::Endpoint;
use serde_json::value::RawValue;

use crate::field::{self, field};
use crate::item::Item;
use crate::session::Session;

type Fields = BTreeMap<String, Box<RawValue>>;

impl Session {
    /// Reads a recording.
    ///
    /// It is a request body with `messages` (Chat Completions, Anthropic's Messages, OpenAI's fine-tuning
    /// format) or `input` (Responses), such a body inside `request` or `body`, or a list of messages. The
    /// answer may stand beside the request, in `response`, `choices` or `output`.
    ///
    /// ```
    /// use cupel_audit::Session;
    ///
    /// let json = r#"{"messages": [{"role": "user", "content": "Hi"},
    ///                             {"role": "assistant", "content": "Hello"}]}"#;
    /// assert_eq!(Session::read("line 1", json).unwrap().len(), 2);
    /// assert!(Session::read("line 2", r#"{"prompt": "Hi"}"#).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// Says why it is no recording.
    pub fn read(place: impl Into<String>, json: &str) -> Result<Self, String> {
        let place = place.into();
        if json.trim_start().starts_with('[') {
            let items: Vec<Box<RawValue>> = parse(json)?;
            return Self::of_messages(place, &items);
        }
        let mut fields: Fields = parse(json)?;
        let mut name = text(&fields, "name").or_else(|| text(&fields, "custom_id"));
        let mut answer = answer(&fields);
        for wrapper in ["request", "body"] {
            let inner = fields.get(wrapper).filter(|raw| raw.get().starts_with('{'));
            if let Some(inner) = inner {
                let inner: Fields = parse(inner.get())?;
                if let Some(response) = fields.get("response") {
                    let response: Fields = parse(response.get()).unwrap_or_default();
                    // Batch files have the answer in a body of its own.
                    let body = response.get("body").and_then(|raw| parse(raw.get()).ok());
                    answer.extend(self::answer(&body.unwrap_or(response)));
                }
                fields = inner;
                name = name.or_else(|| text(&fields, "name"));
            }
        }
        let list = if fields.contains_key("messages") { "messages" } else { "input" };
        let Some(raw) = fields.remove(list) else {
            return Err("expected `messages` or `input`, with a list of messages".to_owned());
        };
        let mut items: Vec<Box<RawValue>> = match raw.get().starts_with('"') && list == "input" {
            true => vec![user(&raw)?],
            false => parse(raw.get()).map_err(|error| format!("`{list}`: {error}"))?,
        };
        // The name of the recording and its answer are no part of the request.
        for other in ["name", "choices", "output", "response", "usage"] {
            fields.remove(other);
        }
        let endpoint = endpoint(list, &fields, &items);
        let is_request = fields.contains_key("model") && answer.is_empty();
        items.append(&mut answer);
        Self::of(place, name, endpoint, fields, &items, is_request)
    }

    /// A recording that is a list of messages.
    pub(crate) fn of_messages(place: String, items: &[Box<RawValue>]) -> Result<Self, String> {
        let fields = Fields::new();
        let endpoint = endpoint("messages", &fields, items);
        Self::of(place, None, endpoint, fields, items, false)
    }

    fn of(
        place: String,
        name: Option<String>,
        endpoint: Endpoint,
        fields: Fields,
        items: &[Box<RawValue>],
        is_request: bool,
    ) -> Result<Self, String> {
        if items.is_empty() {
            return Err("the list of messages is empty".to_owned());
        }
        if let Some(at) = items.iter().position(|item| !item.get().starts_with('{')) {
            return Err(format!("message {at} is no object"));
        }
        let items: Vec<Item> = items.iter().map(|item| Item::new(endpoint, item.get())).collect();
        if let Some(at) = items.iter().position(|item| item.is_unreadable) {
            return Err(format!("message {at} is nested too deeply"));
        }
        Ok(Self { place, name, endpoint, fields, items, is_request })
    }

    /// Sets the model of a session that names none.
    pub(crate) fn default_model(&mut self, model: &str) {
        if !self.fields.contains_key("model") {
            let raw = serde_json::value::to_raw_value(model);
            self.fields.extend(raw.ok().map(|raw| ("model".to_owned(), raw)));
        }
    }
}

/// A line that is a message by itself, if it is one.
pub(crate) fn message(json: &str) -> Option<Box<RawValue>> {
    let fields: Fields = parse(json).ok()?;
    if fields.contains_key("messages") || fields.contains_key("input") {
        return None;
    }
    // Logs of agents have the message in a field.
    let inner = fields.get("message").filter(|raw| raw.get().starts_with('{'));
    if let Some(inner) = inner {
        let message: Fields = parse(inner.get()).ok()?;
        return message.contains_key("role").then(|| inner.clone());
    }
    fields.contains_key("role").then(|| RawValue::from_string(json.to_owned()).ok())?
}

fn parse<'a, T: serde::Deserialize<'a>>(json: &'a str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| format!("not the expected JSON: {error}"))
}

fn text(fields: &Fields, name: &str) -> Option<String> {
    fields.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// A text that stands for a user's message.
fn user(text: &RawValue) -> Result<Box<RawValue>, String> {
    let json = format!(r#"{{"role":"user","content":{}}}"#, text.get());
    RawValue::from_string(json).map_err(|error| error.to_string())
}

/// Messages of the answer that stands beside a request.
fn answer(fields: &Fields) -> Vec<Box<RawValue>> {
    let list = |name: &str| -> Vec<Box<RawValue>> {
        fields.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    };
    let message = |choice: &RawValue| {
        let choice: Fields = serde_json::from_str(choice.get()).ok()?;
        choice.get("message").cloned()
    };
    if let Some(message) = list("choices").first().and_then(|choice| message(choice)) {
        return vec![message];
    }
    let output = list("output");
    if !output.is_empty() {
        return output;
    }
    // Anthropic's answer is a message with fields of its own.
    let is_message = text(fields, "role").is_some_and(|role| role == "assistant");
    match fields.get("content").filter(|_| is_message) {
        Some(content) => {
            let json = format!(r#"{{"role":"assistant","content":{}}}"#, content.get());
            RawValue::from_string(json).into_iter().collect()
        }
        None => match fields.get("response").and_then(|raw| serde_json::from_str(raw.get()).ok()) {
            Some(response) if fields.contains_key("messages") || fields.contains_key("input") => {
                answer(&response)
            }
            _ => Vec::new(),
        },
    }
}

/// API that messages are from.
fn endpoint(list: &str, fields: &Fields, items: &[Box<RawValue>]) -> Endpoint {
    if list == "input" {
        return Endpoint::Responses;
    }
    let model = text(fields, "model").unwrap_or_default();
    let is_block = |item: &RawValue| {
        let value = field::read(item.get());
        let blocks = field(&value, "content").as_array();
        blocks.into_iter().flatten().any(|block| {
            let kind = field::text(block, "type");
            matches!(kind, "tool_use" | "tool_result" | "thinking" | "redacted_thinking")
        })
    };
    let has = |field: &str| fields.contains_key(field);
    let is_claude = model.contains("claude") && !items.iter().any(|item| is_openai(item));
    match is_claude
        || has("system")
        || has("anthropic_version")
        || items.iter().any(|i| is_block(i))
    {
        true => Endpoint::Messages,
        false => Endpoint::Chat,
    }
}

/// Returns true if a message can only be one of Chat Completions.
fn is_openai(item: &RawValue) -> bool {
    let value = field::read(item.get());
    let role = field::text(&value, "role");
    matches!(role, "system" | "developer" | "tool" | "function")
        || field(&value, "tool_calls").is_array()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> (Endpoint, usize, usize) {
        let session = Session::read("a:1", json).unwrap();
        (session.endpoint, session.len(), session.calls().len())
    }

    const USER: &str = r#"{"role":"user","content":"Hi"}"#;
    const ANSWER: &str = r#"{"role":"assistant","content":"Hello"}"#;

    #[test]
    fn recordings_are_read_as_people_have_them() {
        let chat = format!(r#"{{"name":"a","messages":[{USER},{ANSWER},{USER}]}}"#);
        assert_eq!(read(&chat), (Endpoint::Chat, 3, 1));
        // A request body without its answer is a call, too.
        let body = format!(r#"{{"model":"gpt-4o","messages":[{USER},{ANSWER},{USER}]}}"#);
        assert_eq!(read(&body), (Endpoint::Chat, 3, 2));
        let claude = format!(r#"{{"model":"claude-sonnet-4-5","system":"s","messages":[{USER}]}}"#);
        assert_eq!(read(&claude), (Endpoint::Messages, 1, 1));
        assert_eq!(read(r#"{"model":"gpt-5","input":"Hi"}"#), (Endpoint::Responses, 1, 1));
        assert_eq!(read(&format!("[{USER},{ANSWER}]")), (Endpoint::Chat, 2, 1));
        let tuning = format!(r#"{{"messages":[{USER},{ANSWER}],"tools":[]}}"#);
        assert_eq!(read(&tuning), (Endpoint::Chat, 2, 1));
    }

    #[test]
    fn an_answer_beside_its_request_is_the_next_message() {
        let request = format!(r#"{{"model":"gpt-4o","messages":[{USER}]}}"#);
        let choices = format!(r#"{{"choices":[{{"message":{ANSWER}}}]}}"#);
        let log = format!(r#"{{"request":{request},"response":{choices}}}"#);
        assert_eq!(read(&log), (Endpoint::Chat, 2, 1));
        let batch = format!(r#"{{"custom_id":"1","url":"/v1/chat/completions","body":{request}}}"#);
        assert_eq!(read(&batch), (Endpoint::Chat, 1, 1));
        let output = r#"{"model":"gpt-5","input":"Hi","output":[{"type":"reasoning"},{"type":"message","role":"assistant","content":"x"}]}"#;
        assert_eq!(read(output), (Endpoint::Responses, 3, 1));
    }

    #[test]
    fn what_is_no_recording_says_why() {
        let why = |json: &str| Session::read("a:1", json).unwrap_err();
        assert!(why("{").contains("not the expected JSON"));
        assert!(why("{}").contains("expected `messages` or `input`"));
        assert!(why(r#"{"messages":[]}"#).contains("empty"));
        assert!(why(r#"{"messages":[7]}"#).contains("message 0 is no object"));
        assert!(why(r#"{"messages":7}"#).contains("`messages`"));
    }
}
