//! One message of a recording, or one item of the Responses API: its role, its calls and its results.

use cupel_json::Endpoint;
use serde_json::Value;

use crate::field::{self, field};

/// A message, with what the measures need to know of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Item {
    /// The message as it was recorded.
    pub(crate) json: Box<str>,
    /// Set if the model wrote it.
    pub(crate) is_output: bool,
    /// Set if it is well-formed JSON that cannot be read, such as one that is nested too deeply.
    pub(crate) is_unreadable: bool,
    /// Set if it is a system or developer message.
    pub(crate) is_instruction: bool,
    pub(crate) calls: Vec<ToolUse>,
    pub(crate) results: Vec<ToolResult>,
    /// The user's words.
    pub(crate) words: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolUse {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// A tool's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolResult {
    /// Id of the call that it answers.
    pub(crate) id: String,
    pub(crate) text: String,
}

impl Item {
    /// Reads a message.
    pub(crate) fn new(endpoint: Endpoint, json: &str) -> Self {
        let value = field::read(json);
        let is_unreadable = value.is_null();
        let mut item = Self { json: json.into(), is_unreadable, ..Self::default() };
        let role = field::text(&value, "role");
        item.is_instruction = matches!(role, "system" | "developer");
        if endpoint == Endpoint::Responses {
            item.read_response_item(&value, role);
        } else {
            item.is_output = role == "assistant";
            item.read_message(&value, role);
        }
        item
    }

    fn read_message(&mut self, value: &Value, role: &str) {
        for call in list(field(value, "tool_calls")) {
            let function = field(call, "function");
            self.add_call(field(call, "id"), field(function, "name"), field(function, "arguments"));
        }
        if let Some(call) = value.get("function_call").filter(|call| call.is_object()) {
            self.add_call(&Value::Null, field(call, "name"), field(call, "arguments"));
        }
        if matches!(role, "tool" | "function") {
            self.add_result(field(value, "tool_call_id"), field(value, "content"));
            return;
        }
        for block in list(field(value, "content")) {
            match field(block, "type").as_str() {
                Some("tool_use") => {
                    self.add_call(field(block, "id"), field(block, "name"), field(block, "input"));
                }
                Some("tool_result") => {
                    self.add_result(field(block, "tool_use_id"), field(block, "content"));
                }
                _ => {}
            }
        }
        self.read_words(value, role);
    }

    fn read_response_item(&mut self, value: &Value, role: &str) {
        match field::text(value, "type") {
            "function_call" => {
                self.add_call(
                    field(value, "call_id"),
                    field(value, "name"),
                    field(value, "arguments"),
                );
                self.is_output = true;
            }
            "custom_tool_call" => {
                self.add_call(field(value, "call_id"), field(value, "name"), field(value, "input"));
                self.is_output = true;
            }
            "function_call_output" | "custom_tool_call_output" => {
                self.add_result(field(value, "call_id"), field(value, "output"));
            }
            kind if kind.ends_with("_output") || kind == "item_reference" => {}
            "" | "message" => {
                self.is_output = role == "assistant";
                self.read_words(value, role);
            }
            // Reasoning, and calls of tools on the server.
            _ => self.is_output = true,
        }
    }

    fn read_words(&mut self, value: &Value, role: &str) {
        if role == "user" {
            let words = text_of(field(value, "content"));
            self.words = Some(words).filter(|words| !words.trim().is_empty());
        }
    }

    fn add_call(&mut self, id: &Value, name: &Value, arguments: &Value) {
        let arguments = match arguments {
            // OpenAI's APIs have JSON in a text.
            Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| arguments.clone()),
            other => other.clone(),
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.calls.push(ToolUse { id: text(id), name: text(name), arguments });
    }

    fn add_result(&mut self, id: &Value, content: &Value) {
        let id = id.as_str().unwrap_or_default().to_owned();
        self.results.push(ToolResult { id, text: text_of(content) });
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Text of a content: itself, or that of its parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| field(part, "text").as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_results_are_read_in_all_three_formats() {
        let chat = r#"{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"find","arguments":"{\"id\":\"W-1\"}"}}]}"#;
        let anthropic = r#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"find","input":{"id":"W-1"}}]}"#;
        let response = r#"{"type":"function_call","call_id":"c1","name":"find","arguments":"{\"id\":\"W-1\"}"}"#;
        for (endpoint, json) in [
            (Endpoint::Chat, chat),
            (Endpoint::Messages, anthropic),
            (Endpoint::Responses, response),
        ] {
            let item = Item::new(endpoint, json);
            assert!(item.is_output, "{json}");
            assert_eq!((&*item.calls[0].id, &*item.calls[0].name), ("c1", "find"));
            assert_eq!(item.calls[0].arguments["id"], "W-1");
        }
        let chat = r#"{"role":"tool","tool_call_id":"c1","content":"x"}"#;
        let anthropic = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"x"}]}]}"#;
        let response = r#"{"type":"function_call_output","call_id":"c1","output":"x"}"#;
        for (endpoint, json) in [
            (Endpoint::Chat, chat),
            (Endpoint::Messages, anthropic),
            (Endpoint::Responses, response),
        ] {
            let item = Item::new(endpoint, json);
            assert!(!item.is_output && item.words.is_none(), "{json}");
            assert_eq!(item.results, [ToolResult { id: "c1".to_owned(), text: "x".to_owned() }]);
        }
    }
}
