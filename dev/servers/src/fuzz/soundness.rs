//! Checks of a request that was sent against the one that came in.

use std::collections::HashMap;

use cupel_json::Endpoint;
use serde_json::Value;

use super::protocol::{field, texts};

/// A request as it was sent.
pub struct Sent {
    pub request: Value,
    /// True if the user asked something in plain text.
    pub is_asked: bool,
}

/// Checks what was sent of a request: it is JSON, nothing but the messages is changed, the user's last words are
/// there, and calls have their results.
pub fn check_sent(endpoint: Endpoint, before: &str, sent: &str) -> Result<Sent, String> {
    let is_whole = before == sent;
    let before = value(before).expect("JSON");
    let after = value(sent).map_err(|error| format!("{error} in {sent}"))?;
    same_fields(endpoint, &before, &after)?;
    let question = question(endpoint, &before);
    if let Some(question) = &question {
        let has = |message: &Value| texts(message).concat().contains(question);
        if !list(endpoint, &after).iter().any(has) && after["input"] != before["input"] {
            return Err(format!("{question:?} is gone from {sent}"));
        }
    }
    if !is_whole {
        pairs(endpoint, &after).map_err(|problem| format!("{problem} in {sent}"))?;
    }
    Ok(Sent { request: after, is_asked: question.is_some() })
}

/// Counts requests of OpenAI's APIs by another tokenizer than the library's.
#[derive(Default)]
pub struct OtherTokenizer {
    counted: HashMap<String, i64>,
}

impl OtherTokenizer {
    /// Checks a count: it is within 2 % or 8 tokens.
    pub fn check(&mut self, endpoint: Endpoint, sent: &Value, ours: i64) -> Result<(), String> {
        let messages = list(endpoint, sent).iter();
        let theirs = 3 + messages.map(|message| self.message(message)).sum::<i64>();
        let allowed = 8.max(theirs / 50);
        let same = (ours - theirs).abs() <= allowed;
        same.then_some(()).ok_or_else(|| format!("{ours} counted, {theirs} by another in {sent}"))
    }

    fn message(&mut self, message: &Value) -> i64 {
        let role = match message["type"].as_str() {
            Some("function_call") => "assistant",
            Some("function_call_output") => "tool",
            _ => message["role"].as_str().unwrap_or_default(),
        };
        let said: i64 = texts(message).into_iter().map(|text| self.tokens(text)).sum();
        let mut sum = 3 + self.tokens(role) + said + self.text(&message["output"]);
        if message["type"] == "function_call" {
            sum += 1 + self.text(&message["name"]) + self.text(&message["arguments"]);
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            sum += 1 + self.text(&function["name"]) + self.text(&function["arguments"]);
        }
        sum
    }

    fn text(&mut self, value: &Value) -> i64 {
        value.as_str().map_or(0, |text| self.tokens(text))
    }

    fn tokens(&mut self, text: &str) -> i64 {
        if let Some(tokens) = self.counted.get(text) {
            return *tokens;
        }
        let tokens = tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len() as i64;
        self.counted.insert(text.to_owned(), tokens);
        tokens
    }
}

/// A body with halves of characters as replacement characters: a value cannot hold them.
fn value(json: &str) -> serde_json::Result<Value> {
    serde_json::from_str(&json.replace(r"\ud83d", r"\ufffd"))
}

fn list(endpoint: Endpoint, request: &Value) -> &[Value] {
    request[field(endpoint)].as_array().map_or(&[], Vec::as_slice)
}

/// Checks that nothing but the messages is changed, marks of a prompt cache aside.
fn same_fields(endpoint: Endpoint, before: &Value, after: &Value) -> Result<(), String> {
    let rest = |request: &Value| {
        let mut fields = request.as_object().cloned().unwrap_or_default();
        fields.remove(field(endpoint));
        if endpoint == Endpoint::Messages {
            fields.values_mut().for_each(unmark);
        }
        fields
    };
    let (before, after) = (rest(before), rest(after));
    (before == after).then_some(()).ok_or_else(|| format!("fields: {before:?}\n{after:?}"))
}

/// Takes marks of the cache out, and a list of one marked text for the text.
fn unmark(value: &mut Value) {
    for part in value.as_array_mut().into_iter().flatten() {
        part.as_object_mut().map(|part| part.remove("cache_control"));
    }
    if let Some([only]) = value.as_array().map(Vec::as_slice) {
        if only["type"] == "text" && only["text"].is_string() {
            *value = only["text"].clone();
        }
    }
}

/// The user's last words; none if their message is not plain text.
fn question(endpoint: Endpoint, request: &Value) -> Option<String> {
    let parts = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
    let is_users = |message: &&Value| {
        let is_message = endpoint != Endpoint::Responses
            || message["type"].is_null()
            || message["type"] == "message";
        let of_tool = parts(message).iter().any(|part| part["type"] == "tool_result");
        message["role"] == "user" && is_message && !of_tool
    };
    let message = list(endpoint, request).iter().rev().find(is_users)?;
    let is_text = message["content"].is_string()
        || parts(message).iter().all(|part| part["text"].is_string());
    let text = texts(message).concat();
    (is_text && !text.trim().is_empty()).then_some(text)
}

/// Checks that every call has its result after it, and every result its call.
fn pairs(endpoint: Endpoint, request: &Value) -> Result<(), String> {
    // Part of the conversation may be on the server.
    let remote = ["previous_response_id", "conversation", "prompt"];
    let refers = |item: &Value| {
        item["type"] == "item_reference" || item["type"].is_null() && !item["id"].is_null()
    };
    let is_remote = remote.iter().any(|name| !request[*name].is_null())
        || list(endpoint, request).iter().any(refers);
    if endpoint == Endpoint::Responses && is_remote {
        return Ok(());
    }
    let mut open: Vec<&str> = Vec::new();
    for message in list(endpoint, request) {
        let (calls, answers) = ids(endpoint, message);
        for answer in answers {
            let at = open.iter().position(|call| *call == answer);
            open.remove(at.ok_or_else(|| format!("result {answer:?} without a call"))?);
        }
        open.extend(calls);
    }
    open.is_empty().then_some(()).ok_or_else(|| format!("calls without results: {open:?}"))
}

/// Ids of the calls and of the answers in a message.
fn ids(endpoint: Endpoint, message: &Value) -> (Vec<&str>, Vec<&str>) {
    let parts = |name: &str| message[name].as_array().map_or(&[][..], Vec::as_slice);
    let of_kind = |kind: &str, id: &str| {
        let blocks = parts("content").iter().filter(|block| block["type"] == kind);
        blocks.filter_map(|block| block[id].as_str()).collect()
    };
    let own = |id: &str| message[id].as_str().into_iter().collect();
    match endpoint {
        Endpoint::Messages => (of_kind("tool_use", "id"), of_kind("tool_result", "tool_use_id")),
        Endpoint::Responses => match message["type"].as_str() {
            Some("function_call") => (own("call_id"), Vec::new()),
            Some("function_call_output") => (Vec::new(), own("call_id")),
            _ => (Vec::new(), Vec::new()),
        },
        _ if message["role"] == "tool" => (Vec::new(), own("tool_call_id")),
        _ if message["role"] == "assistant" => (
            parts("tool_calls").iter().filter_map(|call| call["id"].as_str()).collect(),
            Vec::new(),
        ),
        _ => (Vec::new(), Vec::new()),
    }
}
