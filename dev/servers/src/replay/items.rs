//! Messages of Chat Completions as items of the Responses API.

use serde_json::{Value, json};

/// The items of some messages. With reasoning, each stretch of the model's turns begins with a
/// thought, and every call of the stretch claims to have come of it: the outputs of earlier calls
/// stand between them.
pub fn of(messages: &[Value], with_reasoning: bool) -> Vec<Value> {
    let mut items = Vec::new();
    let mut thought = None;
    for (at, message) in messages.iter().enumerate() {
        let text = message.get("content").and_then(Value::as_str).unwrap_or_default();
        let field = |name: &str| message.get(name).cloned().unwrap_or_default();
        match message.get("role").and_then(Value::as_str) {
            Some("tool") => items.push(json!({
                "type": "function_call_output", "call_id": field("tool_call_id"), "output": text,
            })),
            Some("assistant") => {
                let calls = message.get("tool_calls").and_then(Value::as_array);
                if with_reasoning && thought.is_none() && calls.is_some() {
                    thought = Some(format!("rs_{at}"));
                    items.push(json!({ "type": "reasoning", "id": thought,
                        "summary": [{ "type": "summary_text", "text": "What is asked, and how." }] }));
                }
                if !text.is_empty() {
                    items.push(json!({ "type": "message", "role": "assistant", "content": text }));
                }
                for (number, call) in calls.into_iter().flatten().enumerate() {
                    let part = |pointer: &str| call.pointer(pointer).cloned().unwrap_or_default();
                    let mut item = json!({ "type": "function_call", "call_id": part("/id"),
                        "name": part("/function/name"), "arguments": part("/function/arguments") });
                    if let (Some(thought), Some(fields)) = (&thought, item.as_object_mut()) {
                        let id = format!("fc_{at}_{number}-of-{thought}");
                        fields.insert("id".to_owned(), id.into());
                    }
                    items.push(item);
                }
            }
            _ => {
                thought = None;
                items.push(json!({ "type": "message", "role": field("role"), "content": text }));
            }
        }
    }
    items
}
