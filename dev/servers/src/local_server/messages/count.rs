//! The tokens of a request, counted by the stand-in alone: o200k, scaled to the model's tokenizer.
//!
//! There is no public tokenizer of Claude's. Public measurements put it at 1.16 to 1.30 times GPT's
//! count for models before 4.7 and at up to 1.7 times for later ones; the upper ends stand here.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::Value;

use super::{blocks, kind, messages, models};

/// Tokens of a message, a block, a tool and the tool prompt beside their texts.
const MESSAGE: i64 = 4;
const BLOCK: i64 = 2;
const TOOLS: i64 = 346;

/// The input tokens of a request.
pub fn request(request: &Value) -> i64 {
    let tools = request["tools"].as_array().into_iter().flatten();
    let mut sum: i64 = tools.map(|tool| block(request, tool)).sum();
    if sum > 0 {
        sum += TOOLS;
    }
    sum += match &request["system"] {
        Value::String(said) => text(request, said) + BLOCK,
        Value::Array(parts) => parts.iter().map(|part| block(request, part)).sum(),
        _ => 0,
    };
    for message in messages(request) {
        sum += MESSAGE;
        sum += blocks(message).iter().map(|part| block(request, part)).sum::<i64>();
    }
    sum + MESSAGE
}

/// One block of any kind, or a tool.
pub fn block(request: &Value, block: &Value) -> i64 {
    let field = |name: &str| block[name].as_str().map_or(0, |said| text(request, said));
    let own = match kind(block) {
        "text" => field("text"),
        "image" => 1_600,
        "document" => match kind(&block["source"]) {
            "text" => text(request, block["source"]["data"].as_str().unwrap_or_default()),
            _ => 1_600,
        },
        "thinking" => field("thinking"),
        "redacted_thinking" => field("data"),
        "tool_use" | "server_tool_use" => {
            field("name") + text(request, &block["input"].to_string())
        }
        "tool_result" => match &block["content"] {
            Value::String(said) => text(request, said),
            Value::Array(parts) => parts.iter().map(|part| self::block(request, part)).sum(),
            _ => 0,
        },
        _ => {
            let mut bare = block.clone();
            bare.as_object_mut().map(|fields| fields.remove("cache_control"));
            text(request, &bare.to_string())
        }
    };
    own + BLOCK
}

/// The tokens of a text.
pub fn text(request: &Value, text: &str) -> i64 {
    /// The same texts come again in every call.
    static KNOWN: LazyLock<Mutex<HashMap<String, i64>>> = LazyLock::new(Mutex::default);
    let percent = models::of(request).map_or(100, |model| model.percent);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let tokens = known.get(text).copied().unwrap_or_else(|| {
        let bpe = tiktoken_rs::o200k_base_singleton();
        let tokens = i64::try_from(bpe.encode_ordinary(text).len()).unwrap_or(i64::MAX);
        known.insert(text.to_owned(), tokens);
        tokens
    });
    (tokens * percent + 99) / 100
}
