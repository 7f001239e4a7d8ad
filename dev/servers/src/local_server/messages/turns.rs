//! Rules about the order of roles, and about results and their calls.

use std::collections::HashSet;

use serde_json::Value;

use super::{RefusedItem, blocks, kind, messages};

pub fn check(request: &Value) -> Result<(), RefusedItem> {
    let list = messages(request);
    order(list)?;
    last(request, list)?;
    calls(list)?;
    servers(list)?;
    tools(request, list)
}

/// Rules 2 and 3.
fn order(list: &[Value]) -> Result<(), RefusedItem> {
    let mut before = "";
    for (at, message) in list.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "user" | "assistant" => {}
            "system" if before == "user" => continue,
            "system" => {
                let why = "role 'system' must follow a 'user' message";
                return Err(format!("messages.{at}: {why}").into());
            }
            other => {
                return Err(format!(
                    "messages.{at}.role: Input should be 'user' or 'assistant', got '{other}'"
                )
                .into());
            }
        }
        if at == 0 && role != "user" {
            return Err("messages: first message must use the \"user\" role".into());
        }
        if role == before {
            return Err(format!(
                "messages: roles must alternate between \"user\" and \"assistant\", but found \
                 multiple \"{role}\" roles in a row at messages.{at}"
            )
            .into());
        }
        before = role;
    }
    Ok(())
}

/// Rule 6.
fn last(request: &Value, list: &[Value]) -> Result<(), RefusedItem> {
    let Some(message) = list.last().filter(|message| message["role"] == "assistant") else {
        return Ok(());
    };
    let end = blocks(message).pop().unwrap_or_default();
    if end["text"].as_str().is_some_and(|text| text.ends_with(char::is_whitespace)) {
        return Err("messages: final assistant content cannot end with trailing whitespace".into());
    }
    if matches!(request["thinking"]["type"].as_str(), Some("enabled" | "adaptive")) {
        return Err(
            "messages: prefilling the assistant's answer is not supported with thinking".into()
        );
    }
    Ok(())
}

/// Rules 7 to 10.
fn calls(list: &[Value]) -> Result<(), RefusedItem> {
    let mut seen = HashSet::new();
    let mut open: Vec<String> = Vec::new();
    let list = list.iter().enumerate().filter(|(_, message)| message["role"] != "system");
    for (at, message) in list {
        let mut answered = HashSet::new();
        let mut made = Vec::new();
        let mut others = false;
        for (number, block) in blocks(message).iter().enumerate() {
            match kind(block) {
                "tool_result" => {
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    if !open.iter().any(|open| open == id) {
                        return Err(format!(
                            "messages.{at}.content.{number}: unexpected `tool_use_id` found in \
                             `tool_result` blocks: {id}. Each `tool_result` block must have a \
                             corresponding `tool_use` block in the previous message."
                        )
                        .into());
                    }
                    if others {
                        return Err(format!(
                            "messages.{at}.content.{number}: `tool_result` blocks must come before \
                             all other content"
                        )
                        .into());
                    }
                    if !answered.insert(id.to_owned()) {
                        return Err(format!(
                            "messages.{at}.content.{number}: each tool_use must have a single \
                             result. Found multiple `tool_result` blocks with id: {id}"
                        )
                        .into());
                    }
                }
                "tool_use" => {
                    let id = block["id"].as_str().unwrap_or_default().to_owned();
                    if !seen.insert(id.clone()) {
                        return Err(
                            format!("messages.{at}: `tool_use` ids must be unique: {id}").into()
                        );
                    }
                    made.push(id);
                }
                _ => others = true,
            }
        }
        open.retain(|id| !answered.contains(id));
        unanswered(&format!("before messages.{at} the"), &open)?;
        open = made;
    }
    unanswered("the last", &open)
}

fn unanswered(place: &str, open: &[String]) -> Result<(), RefusedItem> {
    if open.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{place} message: `tool_use` ids were found without `tool_result` blocks immediately after: {}. \
         Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        open.join(", ")
    )
    .into())
}

/// Rule 12.
fn servers(list: &[Value]) -> Result<(), RefusedItem> {
    for (at, message) in list.iter().enumerate() {
        let mut made = HashSet::new();
        for (number, block) in blocks(message).iter().enumerate() {
            let kind = kind(block);
            if kind == "server_tool_use" {
                made.insert(block["id"].as_str().unwrap_or_default().to_owned());
            } else if kind.ends_with("_tool_result") {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                if !made.contains(id) {
                    return Err(format!(
                        "messages.{at}.content.{number}: unexpected `tool_use_id` found in `{kind}` \
                         blocks: {id}. Each `{kind}` block must have a corresponding \
                         `server_tool_use` block before it."
                    )
                    .into());
                }
            }
        }
    }
    Ok(())
}

/// Rule 11.
fn tools(request: &Value, list: &[Value]) -> Result<(), RefusedItem> {
    let declared = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let uses = |block: &Value| matches!(kind(block), "tool_use" | "tool_result");
    if !declared && list.iter().flat_map(blocks).any(|block| uses(&block)) {
        return Err(
            "Requests which include `tool_use` or `tool_result` blocks must define tools".into()
        );
    }
    Ok(())
}
