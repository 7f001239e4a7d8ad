//! The same conversation in the format of the Responses API, and back, so that one set of properties
//! speaks of both.

use cupel_json::Endpoint;
use serde_json::{Value, json};

use crate::support::{SentSummary, Settings, text};

/// A message as the item that it is there; each has one.
fn item(message: &Value) -> Value {
    match (message["role"].as_str(), &message["tool_calls"][0]) {
        (Some("tool"), _) => json!({"type": "function_call_output",
            "call_id": message["tool_call_id"], "output": message["content"]}),
        (_, Value::Null) => json!({"type": "message", "role": message["role"],
            "content": message["content"]}),
        (_, call) => json!({"type": "function_call", "call_id": call["id"],
            "name": call["function"]["name"], "arguments": call["function"]["arguments"]}),
    }
}

/// An item as the message that it is in Chat Completions.
fn message(item: &Value) -> Value {
    match item["type"].as_str() {
        Some("function_call") => {
            let function = json!({"name": item["name"], "arguments": item["arguments"]});
            json!({"role": "assistant", "content": null, "tool_calls":
                [{"id": item["call_id"], "type": "function", "function": function}]})
        }
        Some("function_call_output") => {
            json!({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]})
        }
        _ => json!({"role": item["role"], "content": text(item)}),
    }
}

/// Sends a conversation in that format; what was sent comes back as messages.
pub(crate) fn send(settings: &Settings, messages: &[Value]) -> Result<SentSummary, String> {
    let input: Vec<Value> = messages.iter().map(item).collect();
    let mut body = json!({"model": settings.model, "input": input});
    if settings.output > 0 {
        body["max_output_tokens"] = json!(settings.output);
    }
    if settings.tools > 0 {
        let tool = |at| json!({"type": "function", "name": format!("look{at}"), "parameters": {}});
        body["tools"] = json!((0..settings.tools).map(tool).collect::<Vec<_>>());
    }
    let mut sent = settings.send_json(Endpoint::Responses, body.to_string())?;
    sent.messages = sent.messages.iter().map(message).collect();
    Ok(sent)
}

#[test]
fn there_and_back_is_the_same_conversation() {
    let mut messages = vec![json!({"role": "user", "content": "Where?"})];
    messages.extend(crate::support::step("c1", "here", "nowhere"));
    let back: Vec<Value> = messages.iter().map(item).map(|item| message(&item)).collect();
    assert_eq!(back, messages);
}
