//! The Responses API: every item alone, then who belongs to whom.

use std::collections::HashSet;

use serde_json::Value;

use super::parts::content;
use super::{is_open, only, text};

pub fn check(request: &Value) -> Result<(), String> {
    let items = match &request["input"] {
        Value::String(_) => return Ok(()),
        Value::Array(items) => items,
        _ => return Err("Invalid type for 'input'".to_owned()),
    };
    let is_remote =
        request["previous_response_id"].is_string() || !request["conversation"].is_null();
    if items.is_empty() {
        return Err("Invalid 'input': empty array".to_owned());
    }
    for (index, item) in items.iter().enumerate() {
        one(item, &format!("input[{index}]"), is_open(request))?;
    }
    reasoning(items)?;
    pairing(items, is_remote)
}

fn kind(item: &Value) -> &str {
    let default = if item["role"].is_string() { "message" } else { "item_reference" };
    item["type"].as_str().unwrap_or(default)
}

fn one(item: &Value, place: &str, is_open: bool) -> Result<(), String> {
    match kind(item) {
        "message" => {
            if !is_open {
                let allowed = ["type", "role", "content", "id", "status", "phase"];
                only(item, &allowed, place)?;
            }
            let types: &[&str] = match text(item, "role", place)? {
                "assistant" => &["output_text", "refusal", "input_text"],
                "user" | "system" | "developer" => &["input_text", "input_image", "input_file"],
                other => return Err(format!("Invalid value: '{other}' - '{place}.role'")),
            };
            content(&item["content"], types, &format!("{place}.content"))
        }
        "function_call" => {
            text(item, "name", place)?;
            text(item, "arguments", place)?;
            text(item, "call_id", place).map(drop)
        }
        "custom_tool_call" => {
            text(item, "name", place)?;
            text(item, "input", place)?;
            text(item, "call_id", place).map(drop)
        }
        "function_call_output" | "custom_tool_call_output" => {
            text(item, "call_id", place)?;
            let types = ["input_text", "input_image", "input_file"];
            content(&item["output"], &types, &format!("{place}.output"))
        }
        "reasoning" => {
            let summary = item["summary"].as_array();
            summary.map(drop).ok_or(format!("Missing required parameter: '{place}.summary'."))
        }
        "item_reference" => text(item, "id", place).map(drop),
        other => Err(format!("Invalid value: '{other}' - '{place}.type'")),
    }
}

/// Thoughts need their outcome.
fn reasoning(items: &[Value]) -> Result<(), String> {
    for (index, item) in items.iter().enumerate().filter(|(_, item)| kind(item) == "reasoning") {
        let follows = items.get(index + 1).is_some_and(|next| {
            next["role"] == "assistant"
                || matches!(
                    kind(next),
                    "reasoning" | "function_call" | "custom_tool_call" | "item_reference"
                )
        });
        if !follows {
            let id = &item["id"];
            return Err(format!(
                "Item {id} of type 'reasoning' was provided without its required following item."
            ));
        }
    }
    // And their outcome needs the thoughts: the item names its owner.
    let thoughts: HashSet<&str> = items
        .iter()
        .filter(|item| kind(item) == "reasoning")
        .filter_map(|item| item["id"].as_str())
        .collect();
    let ids = items.iter().filter_map(|item| item["id"].as_str());
    let mut owned = ids.filter_map(|id| Some((id, id.split_once("-of-")?.1)));
    match owned.find(|(_, thought)| !thoughts.contains(thought)) {
        None => Ok(()),
        Some((id, thought)) => Err(format!(
            "Item '{id}' was provided without its required 'reasoning' item: '{thought}'."
        )),
    }
}

fn pairing(items: &[Value], is_remote: bool) -> Result<(), String> {
    let is_remote = is_remote || items.iter().any(|item| kind(item) == "item_reference");
    let mut open: HashSet<&str> = HashSet::new();
    for item in items {
        let id = item["call_id"].as_str().unwrap_or_default();
        match kind(item) {
            "function_call" | "custom_tool_call" => drop(open.insert(id)),
            "function_call_output" | "custom_tool_call_output" => {
                let is_known = open.remove(id) || is_remote;
                let error = "No tool call found for function call output with call_id";
                is_known.then_some(()).ok_or(format!("{error} {id}."))?;
            }
            _ => {}
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    Err(format!("No tool output found for function call {open:?}."))
}
