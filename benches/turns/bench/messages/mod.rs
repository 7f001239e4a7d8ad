//! Recorded runs in the format of Anthropic's Messages, and what is sent of them back again.

pub mod cache;
pub mod check;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::session::{Session, count};
use crate::ways::Sent;

/// A model with a cache from 1,024 tokens on.
pub const MODEL: &str = "claude-sonnet-4-5";

/// Tokens of a message, a block and the tool prompt beside their texts.
pub const MESSAGE: i64 = 4;
pub const BLOCK: i64 = 2;
const TOOLS: i64 = 346;

/// The same session with the tokens that it has in this format.
pub fn session(mut session: Session) -> Session {
    for message in &mut session.messages {
        let blocks = blocks(&message.value, 0);
        message.tokens = MESSAGE + blocks.iter().map(block_tokens).sum::<i64>();
    }
    session.aside = tools(&session).iter().map(|tool| BLOCK + count(&tool.to_string())).sum();
    session.aside += if session.aside > 0 { TOOLS } else { 0 };
    session
}

/// The tools that a session calls.
fn tools(session: &Session) -> Vec<Value> {
    let calls = session.messages.iter().flat_map(crate::session::Message::calls);
    let names: BTreeSet<&str> =
        calls.filter_map(|call| call["function"]["name"].as_str()).collect();
    let tool = |name| json!({"name": name, "input_schema": {"type": "object"}});
    names.into_iter().map(tool).collect()
}

/// The body of a request with these messages of a session. Every block says whose it is. `automatic`:
/// the server is asked to mark the end by itself.
pub fn body(session: &Session, places: impl Iterator<Item = usize>, automatic: bool) -> Value {
    let mut system = Vec::new();
    let mut messages: Vec<Value> = Vec::new();
    for place in places {
        let message = &session.messages[place];
        let blocks = blocks(&message.value, place);
        if place < session.head {
            system.extend(blocks);
            continue;
        }
        let role = if message.role == "assistant" { "assistant" } else { "user" };
        match messages.last_mut().filter(|last| last["role"] == role) {
            Some(last) => last["content"].as_array_mut().unwrap().extend(blocks),
            None => messages.push(json!({"role": role, "content": blocks})),
        }
    }
    // A conversation begins with its user.
    if messages.first().is_some_and(|first| first["role"] == "assistant") {
        messages.remove(0);
    }
    let mut body = json!({"model": MODEL, "max_tokens": 1_000});
    if automatic {
        body["cache_control"] = json!({"type": "ephemeral"});
    }
    let tools = tools(session);
    if !tools.is_empty() {
        body["tools"] = json!(tools);
    }
    if !system.is_empty() {
        body["system"] = json!(system);
    }
    body["messages"] = json!(messages);
    body
}

/// A recorded message as blocks.
fn blocks(message: &Value, place: usize) -> Vec<Value> {
    let text = match &message["content"] {
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    if message["role"] == "tool" {
        let id = id(&message["tool_call_id"]);
        return vec![
            json!({"type": "tool_result", "tool_use_id": id, "content": text, "place": place}),
        ];
    }
    let mut blocks = Vec::new();
    if !text.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": text, "place": place}));
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        let input = function["arguments"].as_str().unwrap_or_default();
        let input: Value = serde_json::from_str(input).unwrap_or_default();
        let input = if input.is_object() { input } else { json!({}) };
        blocks.push(json!({"type": "tool_use", "id": id(&call["id"]), "name": function["name"],
            "input": input, "place": place}));
    }
    blocks
}

fn id(id: &Value) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    id.as_str().unwrap_or_default().chars().map(plain).collect()
}

/// The tokens of one block.
pub fn block_tokens(block: &Value) -> i64 {
    let text = |field: &str| count(block[field].as_str().unwrap_or_default());
    BLOCK
        + match block["type"].as_str() {
            Some("tool_use") => text("name") + count(&block["input"].to_string()),
            Some("tool_result") => text("content"),
            _ => text("text"),
        }
}

/// Converts a request for the other measurements: recorded messages in their own format.
pub fn sent(body: Value, unused: i64) -> Sent {
    let mut messages: Vec<Value> = Vec::new();
    let mut places: Vec<usize> = Vec::new();
    let said = body["messages"].as_array().into_iter().flatten();
    let said =
        said.map(|message| (message["role"].as_str().unwrap_or_default(), &message["content"]));
    for (role, content) in [("system", &body["system"])].into_iter().chain(said) {
        let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
        // What was put in stands before what is whose.
        let mut before = String::new();
        for block in blocks {
            let Some(place) = block["place"].as_u64() else {
                before.push_str(block["text"].as_str().unwrap_or_default());
                continue;
            };
            if places.last() != Some(&(place as usize)) {
                places.push(place as usize);
                messages.push(json!({"role": role, "content": ""}));
            }
            add(messages.last_mut().unwrap(), block, &std::mem::take(&mut before));
        }
    }
    Sent { messages, places, unused, error: None, body: Some(body) }
}

fn add(message: &mut Value, block: &Value, before: &str) {
    let text = |field: &str| block[field].as_str().unwrap_or_default();
    match text("type") {
        "tool_use" => {
            let call = json!({"id": block["id"], "type": "function", "function":
                {"name": block["name"], "arguments": block["input"].to_string()}});
            match message["tool_calls"].as_array_mut() {
                Some(calls) => calls.push(call),
                None => message["tool_calls"] = json!([call]),
            }
        }
        "tool_result" => {
            *message = json!({"role": "tool", "tool_call_id": block["tool_use_id"],
                "content": block["content"]});
        }
        _ => {
            let said = message["content"].as_str().unwrap_or_default();
            message["content"] = json!(format!("{said}{before}{}", text("text")));
        }
    }
}
