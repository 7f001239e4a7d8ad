//! Reads the messages of Anthropic's Messages API.

use cupel::ContextKind;
use cupel::conversation::Role;
use serde_json::Value;

use super::api::Api;
use super::content;
use super::transcript::RecordedTurn;
use crate::conversation::ConversationHandle;
use crate::message::ArchiveMessage;

/// The messages of a request of Anthropic's Messages, without the model's thoughts. Each keeps its
/// JSON as [`ArchiveMessage::wire`], and the results of tools in it are found by their keys.
#[must_use]
pub fn anthropic_messages(request: &Value) -> Vec<ArchiveMessage> {
    list(request.get("messages")).filter_map(message).collect()
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// One message, of a request or of an answer.
fn message(value: &Value) -> Option<ArchiveMessage> {
    let content = value.get("content");
    let is_result = |block: &Value| kind(block) == "tool_result";
    let role = match value.get("role")?.as_str()? {
        // Results of tools come in the user's name.
        "user" if list(content).next().is_some() && list(content).all(is_result) => Role::Tool,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    let mut lines: Vec<String> = list(content).filter_map(line).collect();
    lines.extend(content.and_then(Value::as_str).map(str::to_owned));
    lines.retain(|line| !line.is_empty());
    let text = lines.join("\n");
    let results = list(content).filter(|block| is_result(block)).flat_map(results);
    let results: Vec<&str> = results.filter(|result| *result != text).collect();
    let mut message = ArchiveMessage::new(role, text.as_str()).wire(value.to_string());
    if list(content).any(is_result) {
        // Also beside the user's own words.
        message = message.kind(ContextKind::tool_output());
    }
    for result in results {
        message = message.original(result);
    }
    Some(message)
}

/// Text of a block. Returns `None` for thinking blocks.
fn line(block: &Value) -> Option<String> {
    Some(match kind(block) {
        "thinking" | "redacted_thinking" => return None,
        "text" => block.get("text")?.as_str()?.to_owned(),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            content::call(block.get("name"), block.get("input"))
        }
        "tool_result" => content::text(block.get("content")),
        other => format!("[{other}]"),
    })
}

/// The texts of a result, each of which a plan may cut by itself.
fn results(block: &Value) -> impl Iterator<Item = &str> {
    let content = block.get("content");
    let parts = list(content).filter_map(|part| part.get("text")?.as_str());
    content.and_then(Value::as_str).into_iter().chain(parts)
}

/// Puts an answer together from its events.
#[derive(Debug, Default)]
pub(super) struct Events {
    blocks: Vec<Value>,
    /// The input of a call, which comes in pieces of JSON, by the number of its block.
    inputs: Vec<String>,
    stopped: bool,
}

impl Api for Events {
    fn turn(conversation: ConversationHandle, request: &Value) -> RecordedTurn {
        RecordedTurn::new(conversation, anthropic_messages(request))
    }

    fn whole(response: &Value) -> Option<Vec<ArchiveMessage>> {
        Some(vec![message(response)?])
    }

    fn event(&mut self, event: &Value) {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or_default();
        let index = usize::try_from(index).unwrap_or(usize::MAX).min(4_096);
        match kind(event) {
            "content_block_start" => {
                self.blocks.resize(self.blocks.len().max(index + 1), Value::Null);
                self.inputs.resize(self.blocks.len(), String::new());
                if let (Some(block), Some(begun)) =
                    (self.blocks.get_mut(index), event.get("content_block"))
                {
                    *block = begun.clone();
                }
            }
            "content_block_delta" => self.delta(index, event.get("delta")),
            "message_stop" => self.stopped = true,
            _ => {}
        }
    }

    fn held_bytes(&self) -> usize {
        let texts = self.blocks.iter().filter_map(|block| block.get("text")?.as_str());
        let texts = texts.chain(self.inputs.iter().map(String::as_str)).map(str::len);
        size_of_val(&*self.blocks) + texts.sum::<usize>()
    }

    fn ended(mut self) -> Option<Vec<ArchiveMessage>> {
        for (block, input) in self.blocks.iter_mut().zip(&self.inputs) {
            if let (Ok(input), Some(fields)) = (serde_json::from_str(input), block.as_object_mut())
            {
                fields.insert("input".to_owned(), input);
            }
        }
        let answer = serde_json::json!({ "role": "assistant", "content": self.blocks });
        self.stopped.then(|| message(&answer).into_iter().collect())
    }
}

impl Events {
    fn delta(&mut self, index: usize, delta: Option<&Value>) {
        let piece = |field: &str| delta.and_then(|delta| delta.get(field)).and_then(Value::as_str);
        if let (Some(text), Some(said)) =
            (piece("text"), self.blocks.get_mut(index).and_then(|block| block.get_mut("text")))
        {
            *said = format!("{}{text}", said.as_str().unwrap_or_default()).into();
        }
        if let (Some(json), Some(input)) = (piece("partial_json"), self.inputs.get_mut(index)) {
            input.push_str(json);
        }
    }
}
