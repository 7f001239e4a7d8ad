//! A selector, and runs in Anthropic's format.

use std::collections::HashMap;

use cupel::Policy;
use cupel::layer::{CupelLayer, SelectedRequest, Selection, Selector};
use cupel_json::{ClaudeModel, ClaudeModels, Endpoint, JsonBody, MessagesAdapter};
use serde_json::{Value, json};

use cupel_dev_servers::local_server::messages::thoughts;

pub(crate) type Fitting = Selector<JsonBody, MessagesAdapter>;

/// The stand-in's models of this window.
pub(crate) fn models(window: i64) -> ClaudeModels {
    let test = ClaudeModel::new(window).cached_from(256);
    ClaudeModels::new()
        .with(format!("test-{window}"), test)
        .with(format!("test-bound-{window}"), test.binds_thinking())
        .with(format!("other-{window}"), test)
}

/// A layer for the stand-in's models of this window.
pub(crate) fn layer(window: i64, policy: Policy) -> Fitting {
    let adapter = MessagesAdapter::new().models(models(window));
    let layer = CupelLayer::builder()
        .budget(adapter.window())
        .adapter(adapter)
        .policy(policy)
        .build()
        .unwrap();
    layer.selector()
}

/// Turns are planned.
pub(crate) fn planned() -> Policy {
    Policy::chat()
}

/// Messages are scored and selected one by one.
pub(crate) fn scored() -> Policy {
    Policy::chat().without_plan()
}

/// Sends a body, or returns the reason why it cannot.
pub(crate) fn send(layer: &Fitting, body: &str) -> Result<(JsonBody, Selection), String> {
    let body = JsonBody::parse(Endpoint::Messages, body).expect("a body with messages");
    let selected = futures::executor::block_on(layer.select(body));
    selected.map(SelectedRequest::into_parts).map_err(|error| error.to_string())
}

/// Form of a model's thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinking {
    None,
    /// With a budget, at the start of a turn and now and then in it.
    Manual,
    /// On a model that binds thoughts to what stood before them.
    Bound,
}

/// A conversation of Chat Completions as requests of Messages.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) head: Value,
    pub(crate) messages: Vec<Value>,
    thinking: Thinking,
}

impl Session {
    pub(crate) fn new(
        recorded: &[Value],
        tools: &[Value],
        window: i64,
        thinking: Thinking,
    ) -> Self {
        let mut system = String::new();
        let mut messages: Vec<Value> = Vec::new();
        // Recorded ids come more than once, which this API does not take.
        let mut made = 0;
        let mut open: HashMap<String, String> = HashMap::new();
        for message in recorded {
            let text = message["content"].as_str().unwrap_or_default();
            let (role, mut blocks) = match message["role"].as_str().unwrap() {
                "system" | "developer" => {
                    system.push_str(text);
                    continue;
                }
                "tool" => {
                    let result = json!({"type": "tool_result", "content": text,
                        "tool_use_id": open.get(&id(&message["tool_call_id"]))});
                    ("user", vec![result])
                }
                role => (role, words(text)),
            };
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let function = &call["function"];
                let input = function["arguments"].as_str().unwrap_or_default();
                let input: Value = serde_json::from_str(input).unwrap_or_default();
                let input = if input.is_object() { input } else { json!({}) };
                made += 1;
                let own = format!("toolu_{made}");
                open.insert(id(&call["id"]), own.clone());
                blocks.push(json!({"type": "tool_use", "id": own,
                    "name": function["name"], "input": input}));
            }
            let is_first = messages.is_empty();
            match messages.last_mut().filter(|last| last["role"] == role) {
                Some(last) => last["content"].as_array_mut().unwrap().append(&mut blocks),
                None if is_first && role == "assistant" => {}
                None if blocks.is_empty() => {}
                None => messages.push(json!({"role": role, "content": blocks})),
            }
        }
        let tools: Vec<Value> = tools
            .iter()
            .map(|tool| {
                json!({"name": tool["name"], "description": tool["description"],
                "input_schema": tool["parameters"]})
            })
            .collect();
        let bound = if thinking == Thinking::Bound { "bound-" } else { "" };
        let mut head = json!({"model": format!("test-{bound}{window}"), "max_tokens": 1_300});
        if !system.is_empty() {
            head["system"] = json!(system);
        }
        if !tools.is_empty() {
            head["tools"] = json!(tools);
        }
        if thinking == Thinking::Manual {
            head["thinking"] = json!({"type": "enabled", "budget_tokens": 1_024});
        }
        Self { head, messages, thinking }
    }

    /// The numbers of messages that a call was made with.
    pub(crate) fn calls(&self) -> Vec<usize> {
        let is_answer = |at: &usize| self.messages[*at]["role"] == "assistant";
        (1..self.messages.len()).filter(is_answer).collect()
    }

    /// The body of a call.
    pub(crate) fn body(&self, known: usize) -> String {
        let mut body = self.head.clone();
        body["messages"] = json!(self.messages[..known]);
        body.to_string()
    }

    /// Adds the thinking of the model before its answer to the history.
    pub(crate) fn think(&mut self, answer: usize, sent: &Value) {
        let opens = !self.messages[answer - 1]["content"]
            .as_array()
            .is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_result"));
        let wanted = self.thinking == Thinking::Bound || opens || answer % 3 == 0;
        if self.thinking == Thinking::None || !wanted {
            return;
        }
        let first = thoughts::think(sent, &format!("What message {answer} should say."), None);
        let second = thoughts::think_sealed(sent, "c2VjcmV0", Some(&first));
        let blocks = self.messages[answer]["content"].as_array_mut().unwrap();
        blocks.insert(0, first);
        if answer % 2 == 0 {
            blocks.insert(1, second);
        }
    }
}

fn words(text: &str) -> Vec<Value> {
    let text = text.trim();
    if text.is_empty() { Vec::new() } else { vec![json!({"type": "text", "text": text})] }
}

fn id(id: &Value) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    id.as_str().unwrap_or_default().chars().map(plain).collect()
}
