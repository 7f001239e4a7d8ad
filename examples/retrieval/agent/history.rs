//! History of the conversation, and the request for the model.

use cupel_json::{Endpoint, JsonBody};
use serde_json::{Value, json};

use super::tools::{Call, definitions};

/// The name that requests give to the model.
pub(crate) const MODEL: &str = "stand-in";

const INSTRUCTIONS: &str = "You help a team that builds on tower-cupel. Answer from what you were \
     sent alone, and say where each fact comes from. Call a tool for what is missing. If nobody \
     knows, say so.";

/// The conversation as the loop keeps it: nothing is ever thrown away here, and every request has
/// all of it.
pub(crate) struct History {
    messages: Vec<Value>,
    calls: usize,
}

impl History {
    /// The instructions alone.
    pub(crate) fn new() -> Self {
        let instructions = json!({"role": "system", "content": INSTRUCTIONS});
        Self { messages: vec![instructions], calls: 0 }
    }

    /// Everything, the instructions first.
    pub(crate) fn messages(&self) -> &[Value] {
        &self.messages
    }

    /// The user says something.
    pub(crate) fn says(&mut self, text: &str) {
        self.messages.push(json!({"role": "user", "content": text}));
    }

    /// The model answers, which ends the turn.
    pub(crate) fn answered(&mut self, text: &str) {
        self.messages.push(json!({"role": "assistant", "content": text}));
    }

    /// A tool was called and answered.
    pub(crate) fn called(&mut self, call: &Call, output: &str) {
        self.calls += 1;
        let id = format!("call_{}", self.calls);
        let function = json!({"name": call.tool.name(), "arguments": call.arguments()});
        let calls = json!([{"id": id, "type": "function", "function": function}]);
        self.messages.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
        self.messages.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
    }

    /// The request as a client would send it, were the window large enough.
    pub(crate) fn request(&self) -> Option<JsonBody> {
        let body = json!({"model": MODEL, "messages": self.messages, "tools": definitions()});
        JsonBody::parse(Endpoint::Chat, body.to_string())
    }
}
