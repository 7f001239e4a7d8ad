//! Thinking: whole, in its place, and, on some models, behind the words it was thought after.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use super::{RefusedItem, blocks, is_thought, kind, messages, models};

const BETA: &str = "thinking-binding-controls-2026-08-01";

/// A thought as the model gives it in answer to this request; `after` is the thought right before it
/// in the same answer.
pub fn think(request: &Value, text: &str, after: Option<&Value>) -> Value {
    let seal = seal(request, messages(request).len(), text, after);
    json!({"type": "thinking", "thinking": text, "signature": seal})
}

/// A thought that only the server can read.
pub fn think_sealed(request: &Value, text: &str, after: Option<&Value>) -> Value {
    let seal = seal(request, messages(request).len(), text, after);
    json!({"type": "redacted_thinking", "data": format!("{text}.{seal}")})
}

/// The signature: of the text and the thought before it, then of what stood before the message.
fn seal(request: &Value, message: usize, text: &str, after: Option<&Value>) -> String {
    let own = hash(&(text, after.map(|after| signature(after).to_owned())));
    format!("sig-{own:016x}-{:016x}", hash(&prefix(request, message)))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Text before a message, without thoughts and cache marks.
fn prefix(request: &Value, message: usize) -> String {
    let before = messages(request).iter().take(message);
    let mut said = String::new();
    for message in before {
        said.push_str(message["role"].as_str().unwrap_or_default());
        for block in blocks(message).iter().filter(|block| !is_thought(block)) {
            said.push_str(&unmarked(block.clone()).to_string());
        }
    }
    let system = match &request["system"] {
        Value::String(text) => json!([{"type": "text", "text": text}]),
        other => other.clone(),
    };
    format!("{}{}{said}", unmarked(system), unmarked(request["tools"].clone()))
}

fn unmarked(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            for (_, field) in fields.iter_mut() {
                *field = unmarked(field.take());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = unmarked(item.take())),
        _ => {}
    }
    value
}

fn signature(thought: &Value) -> &str {
    let data = || thought["data"].as_str().and_then(|data| data.rsplit_once('.'));
    thought["signature"].as_str().or(data().map(|(_, seal)| seal)).unwrap_or_default()
}

fn said(thought: &Value) -> &str {
    let data = || thought["data"].as_str().and_then(|data| data.rsplit_once('.'));
    thought["thinking"].as_str().or(data().map(|(text, _)| text)).unwrap_or_default()
}

pub fn check(request: &Value, beta: &str) -> Result<(), RefusedItem> {
    budget(request)?;
    let drops = drops(request, beta)?;
    let binds = models::of(request)?.binds;
    for (at, message) in messages(request).iter().enumerate() {
        let mut before: Option<Value> = None;
        for (number, block) in blocks(message).into_iter().enumerate() {
            if !is_thought(&block) {
                before = None;
                continue;
            }
            let place = format!("messages.{at}.content.{number}");
            let right = seal(request, at, said(&block), before.as_ref());
            let given = signature(&block);
            if given.get(..20) != right.get(..20) {
                return Err(format!(
                    "{place}: `thinking` or `redacted_thinking` blocks in the latest assistant \
                     message cannot be modified. These blocks must remain as they were in the \
                     original response."
                )
                .into());
            }
            if binds && !drops && given != right {
                return Err(format!(
                    "{place}: Invalid `signature` in `thinking` block. The block is bound to a \
                     different conversation. Remove the block, or set \
                     `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That \
                     setting requires the `{BETA}` value in the `anthropic-beta` header."
                )
                .into());
            }
            before = Some(block);
        }
    }
    begins(request)
}

/// Rule 15.
fn budget(request: &Value) -> Result<(), RefusedItem> {
    let thinking = &request["thinking"];
    if thinking["type"] != "enabled" {
        return Ok(());
    }
    let budget = thinking["budget_tokens"].as_i64().unwrap_or(0);
    if budget < 1_024 {
        let why = "Input should be greater than or equal to 1024";
        return Err(format!("thinking.enabled.budget_tokens: {why}").into());
    }
    if request["max_tokens"].as_i64().is_some_and(|most| budget >= most) {
        return Err("`max_tokens` must be greater than `thinking.budget_tokens`".into());
    }
    Ok(())
}

fn drops(request: &Value, beta: &str) -> Result<bool, RefusedItem> {
    let binding = &request["thinking"]["block_binding"];
    if binding.is_null() {
        return Ok(false);
    }
    if !beta.split(',').any(|value| value.trim() == BETA) {
        return Err("thinking.block_binding: Extra inputs are not permitted".into());
    }
    Ok(binding["prefix_mismatch_behavior"] == "drop_block")
}

/// Rule 14: the assistant's turn since the last words of the user begins with thinking.
fn begins(request: &Value) -> Result<(), RefusedItem> {
    if request["thinking"]["type"] != "enabled" {
        return Ok(());
    }
    let list = messages(request);
    let is_result = |block: &Value| kind(block) == "tool_result";
    let opens =
        |message: &Value| message["role"] == "user" && !blocks(message).iter().any(is_result);
    let Some(question) = list.iter().rposition(opens) else { return Ok(()) };
    let turn = list.iter().enumerate().skip(question + 1);
    let first = turn.into_iter().find(|(_, message)| message["role"] == "assistant");
    if let Some((at, message)) = first {
        let first = blocks(message).first().cloned().unwrap_or_default();
        if !is_thought(&first) {
            return Err(format!(
                "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but \
                 found `{}`. When `thinking` is enabled, a final `assistant` message must start \
                 with a thinking block (preceeding the lastmost set of `tool_use` and \
                 `tool_result` blocks).",
                kind(&first)
            )
            .into());
        }
    }
    Ok(())
}
