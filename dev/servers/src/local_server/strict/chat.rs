//! Chat Completions: every message alone, then who answers whom.

use std::collections::HashSet;

use serde_json::Value;

use super::parts::content;
use super::{is_open, only, text};

pub fn check(request: &Value) -> Result<(), String> {
    let messages = request["messages"].as_array().ok_or("'messages' is not of type 'array'")?;
    if messages.is_empty() {
        return Err("Invalid 'messages': empty array. Expected at least one message.".to_owned());
    }
    for (index, message) in messages.iter().enumerate() {
        one(message, &format!("messages.{index}"), is_open(request))?;
    }
    pairing(messages)
}

fn one(message: &Value, place: &str, is_open: bool) -> Result<(), String> {
    let role = text(message, "role", place)?;
    let (allowed, types): (&[&str], &[&str]) = match role {
        "system" | "developer" => (&["role", "content", "name"], &["text"]),
        "user" => (&["role", "content", "name"], &["text", "image_url", "input_audio", "file"]),
        "assistant" => (
            &["role", "content", "name", "refusal", "audio", "tool_calls", "function_call"],
            &["text", "refusal"],
        ),
        "tool" => (&["role", "content", "tool_call_id"], &["text"]),
        "function" => (&["role", "content", "name"], &[]),
        other => return Err(format!("Invalid value: '{other}' - '{place}.role'")),
    };
    if !is_open {
        only(message, allowed, place)?;
    }
    let has = |field: &str| message.get(field).is_some_and(|value| !value.is_null());
    match role {
        "assistant" => {
            if has("tool_calls") {
                calls(&message["tool_calls"], place)?;
            }
            let may_be_silent = ["tool_calls", "function_call", "refusal", "audio"];
            if !has("content") && may_be_silent.into_iter().any(has) {
                return Ok(());
            }
        }
        "tool" => drop(text(message, "tool_call_id", place)?),
        "function" => drop(text(message, "name", place)?),
        _ => {}
    }
    content(&message["content"], types, &format!("{place}.content"))
}

fn calls(calls: &Value, place: &str) -> Result<(), String> {
    let calls = calls.as_array().ok_or(format!("'{place}.tool_calls' is not of type 'array'"))?;
    if calls.is_empty() {
        return Err(format!("[] is too short - '{place}.tool_calls'"));
    }
    for call in calls {
        text(call, "id", place)?;
        match text(call, "type", place)? {
            "function" => {
                text(&call["function"], "name", place)?;
                text(&call["function"], "arguments", place)?;
            }
            "custom" => {
                // async-openai 0.43 writes `custom_tool`.
                let custom = call.get("custom").unwrap_or(&call["custom_tool"]);
                text(custom, "name", place)?;
                text(custom, "input", place)?;
            }
            other => return Err(format!("Invalid value: '{other}' - '{place}.tool_calls'")),
        }
    }
    Ok(())
}

/// Each call is answered by the messages right after it, each answer has its call.
fn pairing(messages: &[Value]) -> Result<(), String> {
    let mut open: HashSet<&str> = HashSet::new();
    let mut function: Option<&str> = None;
    for message in messages {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if !open.remove(id) {
                return Err(format!(
                    "messages with role 'tool' must be a response to a preceeding message with \
                     'tool_calls': {id}"
                ));
            }
            continue;
        }
        unanswered(&open)?;
        if role == "function" {
            if function.take() != message["name"].as_str() {
                return Err("messages with role 'function' must follow their call".to_owned());
            }
            continue;
        }
        if let Some(name) = function {
            return Err(format!("function call {name} has no result"));
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.filter_map(|call| call["id"].as_str()));
        function = message["function_call"]["name"].as_str();
    }
    unanswered(&open)?;
    function.map_or(Ok(()), |name| Err(format!("function call {name} has no result")))
}

fn unanswered(open: &HashSet<&str>) -> Result<(), String> {
    if open.is_empty() {
        return Ok(());
    }
    Err(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to \
         each 'tool_call_id'. The following tool_call_ids did not have response messages: {open:?}"
    ))
}
