//! Every message and block alone: fields, types, sources, blank texts.

use std::collections::HashSet;

use serde_json::Value;

use super::{RefusedItem, blocks, kind, messages, models};

/// Rule 1: what the answer may take.
pub fn limits(request: &Value) -> Result<(), RefusedItem> {
    let model = models::of(request)?;
    let most = request["max_tokens"].as_i64().ok_or("max_tokens: Field required")?;
    if most < 1 {
        return Err("max_tokens: Input should be greater than or equal to 1".into());
    }
    if most > model.max_output {
        let limit = model.max_output;
        return Err(format!(
            "max_tokens: {most} > {limit}, which is the maximum allowed number of output tokens"
        )
        .into());
    }
    Ok(())
}

pub fn check(request: &Value) -> Result<(), RefusedItem> {
    let list = request["messages"].as_array().ok_or("messages: Field required")?;
    if list.is_empty() {
        return Err("messages: at least one message is required".into());
    }
    match &request["system"] {
        Value::Null | Value::String(_) => {}
        Value::Array(parts) => {
            for (at, part) in parts.iter().enumerate() {
                text(part, &format!("system.{at}"))?;
            }
        }
        _ => return Err("system: Input should be a valid string or list".into()),
    }
    let last = list.len() - 1;
    let open = models::is_open(request);
    for (at, message) in list.iter().enumerate() {
        let place = format!("messages.{at}");
        let by_model = message["role"] == "assistant";
        let (is_empty, given) = match &message["content"] {
            Value::String(text) => (text.is_empty(), true),
            Value::Array(blocks) => (blocks.is_empty(), true),
            _ => (false, false),
        };
        if !given {
            return Err(format!("{place}.content: Field required").into());
        }
        if is_empty && !(by_model && at == last) {
            return Err(format!(
                "{place}: all messages must have non-empty content except for the optional final \
                 assistant message"
            )
            .into());
        }
        if !is_empty {
            for (number, block) in blocks(message).iter().enumerate() {
                one(block, by_model, &format!("{place}.content.{number}"), open)?;
            }
        }
    }
    images(request)?;
    citations(request)
}

fn one(block: &Value, by_model: bool, place: &str, open: bool) -> Result<(), RefusedItem> {
    let needs = |field: &str, given: bool| -> Result<(), RefusedItem> {
        if given { Ok(()) } else { Err(format!("{place}.{field}: Field required").into()) }
    };
    let role = |by: bool| -> Result<(), RefusedItem> {
        let (kind, name) = (kind(block), if by_model { "assistant" } else { "user" });
        let wrong = format!("{place}: `{kind}` blocks cannot be in `{name}` messages");
        if by == by_model { Ok(()) } else { Err(wrong.into()) }
    };
    match kind(block) {
        "text" => text(block, place),
        "image" => {
            role(false)?;
            source(&block["source"], &["base64", "url", "file"], place)
        }
        "document" => {
            role(false)?;
            source(&block["source"], &["base64", "text", "url", "file", "content"], place)
        }
        "search_result" => needs("content", block["content"].is_array()),
        "tool_use" => {
            role(true)?;
            needs("name", block["name"].as_str().is_some_and(|name| !name.is_empty()))?;
            needs("input", block["input"].is_object())?;
            let id = block["id"].as_str().unwrap_or_default();
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if id.is_empty() || !id.chars().all(plain) {
                return Err(format!(
                    "{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
                )
                .into());
            }
            Ok(())
        }
        "tool_result" => {
            role(false)?;
            needs("tool_use_id", block["tool_use_id"].is_string())?;
            let parts = block["content"].as_array().into_iter().flatten();
            for (at, part) in parts.enumerate() {
                let place = format!("{place}.content.{at}");
                match kind(part) {
                    "text" | "image" | "document" | "search_result" => {
                        one(part, false, &place, open)?;
                    }
                    "tool_reference" => {}
                    other => return unexpected(other, &place),
                }
            }
            Ok(())
        }
        "thinking" => {
            role(true)?;
            needs("thinking", block["thinking"].is_string())?;
            needs("signature", block["signature"].is_string())
        }
        "redacted_thinking" => {
            role(true)?;
            needs("data", block["data"].as_str().is_some_and(|data| !data.is_empty()))
        }
        "server_tool_use" => {
            role(true)?;
            needs("id", block["id"].is_string())
        }
        "container_upload" | "compaction" => Ok(()),
        kind if kind.ends_with("_tool_result") => {
            role(true)?;
            needs("tool_use_id", block["tool_use_id"].is_string())
        }
        _ if open => Ok(()),
        other => unexpected(other, place),
    }
}

fn unexpected(kind: &str, place: &str) -> Result<(), RefusedItem> {
    Err(format!(
        "{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
    )
    .into())
}

fn text(block: &Value, place: &str) -> Result<(), RefusedItem> {
    let text = block["text"].as_str().ok_or(format!("{place}.text: Field required"))?;
    if text.is_empty() {
        let what = "text content blocks must be non-empty";
        let cached = "cache_control cannot be set for empty text blocks";
        let why = if block["cache_control"].is_object() { cached } else { what };
        return Err(format!("{place}: {why}").into());
    }
    if text.trim().is_empty() {
        return Err(format!("{place}: text content blocks must contain non-whitespace text").into());
    }
    Ok(())
}

fn source(source: &Value, kinds: &[&str], place: &str) -> Result<(), RefusedItem> {
    let kind = kind(source);
    if !kinds.contains(&kind) {
        return unexpected(kind, &format!("{place}.source"));
    }
    let field = match kind {
        "base64" | "text" => "data",
        "url" => "url",
        "file" => "file_id",
        _ => "content",
    };
    if source[field].is_null() {
        return Err(format!("{place}.source.{field}: Field required").into());
    }
    Ok(())
}

fn images(request: &Value) -> Result<(), RefusedItem> {
    let most = if models::of(request)?.window >= 400_000 { 600 } else { 100 };
    let all = messages(request).iter().flat_map(blocks);
    let inner = |block: Value| {
        let parts = block["content"].as_array().cloned().unwrap_or_default();
        parts.into_iter().chain([block])
    };
    let count = all.flat_map(inner).filter(|block| kind(block) == "image").count();
    if count > most {
        return Err(format!("Too many images: {count} > {most} maximum").into());
    }
    Ok(())
}

/// Rule 18.
fn citations(request: &Value) -> Result<(), RefusedItem> {
    let all = messages(request).iter().flat_map(blocks);
    let documents = all.filter(|block| kind(block) == "document");
    let on: HashSet<bool> = documents.map(|block| block["citations"]["enabled"] == true).collect();
    if on.len() > 1 {
        return Err("citations must be enabled on all documents or none".into());
    }
    Ok(())
}
