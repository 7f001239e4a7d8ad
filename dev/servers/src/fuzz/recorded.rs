//! Recorded runs as requests of the three protocols: short pieces with short texts.

use std::path::Path;

use cupel_json::Endpoint;
use serde_json::{Value, json};

use super::protocol::{ENDPOINTS, request};

/// Messages of a piece.
const LENGTH: usize = 12;
/// Bytes of a text.
const SHORT: usize = 160;

/// Requests of all protocols.
pub fn requests() -> Vec<(Endpoint, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/turns/data");
    let mut all = Vec::new();
    for run in crate::replay::runs::read(folder).unwrap() {
        for piece in run.messages[1..].chunks(LENGTH) {
            let last = piece.iter().rposition(|message| message["role"] != "assistant");
            let start = piece.iter().position(|message| message["role"] == "user");
            let (Some(start), Some(last)) = (start, last) else { continue };
            let mut messages = vec![run.messages[0].clone()];
            messages.extend(piece.get(start..=last).unwrap_or_default().iter().cloned());
            messages.iter_mut().for_each(|message| shorten(&mut message["content"]));
            for endpoint in ENDPOINTS {
                all.push((endpoint, written(endpoint, &messages)));
            }
        }
    }
    all
}

fn shorten(content: &mut Value) {
    if let Value::String(text) = content {
        let end = (0..=SHORT.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        text.truncate(end);
    }
}

/// Messages of Chat Completions as a request of another protocol.
fn written(endpoint: Endpoint, messages: &[Value]) -> Value {
    match endpoint {
        Endpoint::Responses => {
            request(endpoint, &messages.iter().flat_map(items).collect::<Vec<_>>())
        }
        Endpoint::Messages => {
            let mut written: Vec<Value> = Vec::new();
            for message in messages.iter().skip(1).map(turn) {
                match written.last_mut().filter(|last| last["role"] == message["role"]) {
                    Some(last) => {
                        let blocks = message["content"].as_array().unwrap().clone();
                        last["content"].as_array_mut().unwrap().extend(blocks);
                    }
                    None => written.push(message),
                }
            }
            // A user's message that is one text is a string.
            for message in &mut written {
                if let [block] = &message["content"].as_array().unwrap()[..] {
                    if block["type"] == "text" {
                        message["content"] = block["text"].clone();
                    }
                }
            }
            let mut request = request(endpoint, &written);
            request["system"] = messages[0]["content"].clone();
            request
        }
        _ => request(endpoint, messages),
    }
}

fn calls(message: &Value) -> impl Iterator<Item = &Value> {
    message["tool_calls"].as_array().into_iter().flatten()
}

/// A message as items of the Responses API.
fn items(message: &Value) -> Vec<Value> {
    if message["role"] == "tool" {
        return vec![json!({"type": "function_call_output",
            "call_id": message["tool_call_id"], "output": message["content"]})];
    }
    let mut items = Vec::new();
    if message["content"].as_str().is_some_and(|text| !text.is_empty()) {
        items.push(json!({"type": "message", "role": message["role"],
            "content": message["content"]}));
    }
    items.extend(calls(message).map(|call| {
        json!({"type": "function_call", "call_id": call["id"], "name": call["function"]["name"],
            "arguments": call["function"]["arguments"]})
    }));
    items
}

/// A message in Anthropic's format.
fn turn(message: &Value) -> Value {
    let text = json!({"type": "text", "text": message["content"]});
    match message["role"].as_str().unwrap() {
        "tool" => json!({"role": "user", "content": [{"type": "tool_result",
            "tool_use_id": message["tool_call_id"], "content": message["content"]}]}),
        "assistant" => {
            let has_text = message["content"].as_str().is_some_and(|text| !text.trim().is_empty());
            let mut blocks: Vec<Value> = has_text.then_some(text).into_iter().collect();
            blocks.extend(calls(message).map(|call| {
                let input = call["function"]["arguments"].as_str().unwrap_or("{}");
                json!({"type": "tool_use", "id": call["id"], "name": call["function"]["name"],
                    "input": serde_json::from_str::<Value>(input).unwrap_or(json!({}))})
            }));
            json!({"role": "assistant", "content": blocks})
        }
        _ => json!({"role": "user", "content": [text]}),
    }
}
