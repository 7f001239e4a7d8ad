//! A strict stand-in of Anthropic's Messages API: what it refuses, in about its words.
//!
//! Written from the documentation, apart from the library on purpose. The rules, each with a test
//! that it refuses (`integrations/json/tests/messages/strictness.rs`):
//!
//! 1. A body is a JSON object of at most 32 MB with `model`, `max_tokens` from 1 to the model's
//!    most, and at least one message.
//! 2. Roles are `user` and `assistant`; `system` only right after a user's turn.
//! 3. The first message is the user's, and roles alternate.
//! 4. Content is a text or a list of blocks of known types, each with the fields it needs; images
//!    and documents have a source of a known type; at most 100 images, 600 from windows of 400,000.
//! 5. No content is empty but that of a last message by the assistant; no text is blank.
//! 6. A last message by the assistant does not end in white space, and is not there with thinking.
//! 7. `tool_use` is the assistant's, with a unique id, a name and an object as input.
//! 8. `tool_result` is the user's: each answers a `tool_use` of the message before, once.
//! 9. Every `tool_use` is answered in the very next message.
//! 10. Results come first in their message.
//! 11. Tools are declared when messages have calls or results.
//! 12. What a server's tool gave stands after its `server_tool_use` in the same message.
//! 13. Thinking is the assistant's, unedited: its signature fits its text and the thought before it.
//! 14. With `thinking.type: enabled` the turn under way begins with thinking.
//! 15. `budget_tokens` is at least 1,024 and below `max_tokens`.
//! 16. On models that bind thinking nothing before a thought has changed since it was written,
//!     unless `block_binding` says to drop such thoughts, which needs a beta header.
//! 17. At most four blocks have `cache_control`, none of them thinking or an empty text; longer
//!     lives come before shorter ones.
//! 18. Citations are on for all documents or for none.
//! 19. Prompt and answer fit the window.
//!
//! <https://platform.claude.com/docs/en/api/messages>, and the pages on tool use, thinking,
//! preserved thinking, prompt caching, vision, citations and errors beside it.

pub mod answer;
pub mod caches;
pub mod count;
pub mod models;
mod shape;
pub mod thoughts;
mod turns;

use serde_json::Value;

/// The largest body.
pub const LARGEST: usize = 32 * 1024 * 1024;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedItem {
    pub status: u16,
    pub kind: &'static str,
    pub message: String,
}

impl From<String> for RefusedItem {
    fn from(message: String) -> Self {
        Self { status: 400, kind: "invalid_request_error", message }
    }
}

impl From<&str> for RefusedItem {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

/// Checks a body and its `anthropic-beta` header; its JSON, or why it is refused.
pub fn check(body: &[u8], beta: &str) -> Result<Value, RefusedItem> {
    let json = parse(body)?;
    shape::limits(&json)?;
    rules(&json, beta)?;
    let model = models::of(&json)?;
    let (prompt, output) = (count::request(&json), json["max_tokens"].as_i64().unwrap_or(0));
    if prompt > model.window {
        let window = model.window;
        return Err(format!("prompt is too long: {prompt} tokens > {window} maximum").into());
    }
    if prompt + output > model.window {
        let window = model.window;
        return Err(format!(
            "input length and `max_tokens` exceed context limit: {prompt} + {output} > {window}, \
             decrease input length or `max_tokens` and try again"
        )
        .into());
    }
    Ok(json)
}

/// Checks a body for `count_tokens`, which takes no `max_tokens`.
pub fn check_count(body: &[u8], beta: &str) -> Result<Value, RefusedItem> {
    let json = parse(body)?;
    models::of(&json)?;
    rules(&json, beta)?;
    Ok(json)
}

fn parse(body: &[u8]) -> Result<Value, RefusedItem> {
    if body.len() > LARGEST {
        let message = "Request exceeds the maximum size".to_owned();
        return Err(RefusedItem { status: 413, kind: "request_too_large", message });
    }
    let wrong = |error: serde_json::Error| format!("The request body is not valid JSON: {error}");
    let json: Value = serde_json::from_slice(body).map_err(wrong)?;
    if json.is_object() { Ok(json) } else { Err("Input should be an object".into()) }
}

fn rules(json: &Value, beta: &str) -> Result<(), RefusedItem> {
    shape::check(json)?;
    turns::check(json)?;
    thoughts::check(json, beta)?;
    caches::check(json)?;
    Ok(())
}

/// The messages of a request.
fn messages(json: &Value) -> &[Value] {
    json["messages"].as_array().map_or(&[], Vec::as_slice)
}

/// The blocks of a message; a text is one block.
pub fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn kind(block: &Value) -> &str {
    block["type"].as_str().unwrap_or_default()
}

fn is_thought(block: &Value) -> bool {
    matches!(kind(block), "thinking" | "redacted_thinking")
}
