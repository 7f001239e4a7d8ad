//! Names and shapes of the three protocols.

use cupel_json::Endpoint;
use serde_json::{Value, json};

pub const ENDPOINTS: [Endpoint; 3] = [Endpoint::Chat, Endpoint::Responses, Endpoint::Messages];

/// The name of the list of messages.
pub fn field(endpoint: Endpoint) -> &'static str {
    if endpoint == Endpoint::Responses { "input" } else { "messages" }
}

pub fn request(endpoint: Endpoint, messages: &[Value]) -> Value {
    json!({"model": "test", "max_tokens": 100, field(endpoint): messages})
}

/// All texts of a message, in their order.
pub fn texts(message: &Value) -> Vec<&str> {
    match &message["content"] {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}
