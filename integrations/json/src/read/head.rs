//! Everything of a request that is not a message.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::value::RawValue;

use super::{Endpoint, Object};
use crate::count::Meter;
use crate::models::{Model, ModelFacts as _};

/// Fields of OpenAI's APIs that stand before the messages, or change all that follows.
const PROMPT: [&str; 6] =
    ["model", "tools", "functions", "response_format", "instructions", "text"];

/// A request without its messages, counted.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) tokens: i64,
    /// What the server adds that cannot be seen from here.
    pub(crate) uncounted: Vec<String>,
    /// Part of the conversation is on the server.
    pub(crate) remote: bool,
    /// Hash of the fields that stand before the messages in the prompt.
    pub(crate) identity: u64,
}

impl Head {
    /// Counts tools, formats, instructions and priming.
    pub(crate) fn read(meter: &Meter, endpoint: Endpoint, request: &Object<'_>) -> Self {
        let mut head = Self { tokens: Model::FORMAT.answer, ..Self::default() };
        head.identify(request, &PROMPT);
        meter.tools(request, &mut head);
        let format = match endpoint {
            Endpoint::Chat | Endpoint::Messages => {
                head.note(request, &["prediction", "web_search_options"]);
                request.object("response_format")
            }
            Endpoint::Responses => {
                if let Some(instructions) = request.text("instructions") {
                    head.add(meter.message("system"));
                    head.add(meter.text(&instructions));
                }
                let stored = ["previous_response_id", "conversation", "prompt"];
                head.remote = head.note(request, &stored);
                request.object("text").and_then(|text| text.object("format"))
            }
        };
        head.add(format.map_or(0, |format| meter.format(&format)));
        head
    }

    /// Sets the hash of the fields that stand before the messages.
    pub(crate) fn identify(&mut self, request: &Object<'_>, fields: &[&str]) {
        let mut hasher = DefaultHasher::new();
        for field in fields {
            request.raw(field).map(RawValue::get).hash(&mut hasher);
        }
        self.identity = hasher.finish();
    }

    /// Notes fields that the server turns into something that cannot be seen from here; whether there
    /// are any.
    pub(crate) fn note(&mut self, request: &Object<'_>, fields: &[&str]) -> bool {
        let found = fields.iter().filter(|field| request.has(field));
        let before = self.uncounted.len();
        self.uncounted.extend(found.map(ToString::to_string));
        self.uncounted.len() > before
    }

    /// Notes a tool that the provider runs itself.
    pub(crate) fn note_tool(&mut self, kind: &str) {
        self.uncounted.push(format!("what tool {kind:?} adds"));
    }

    pub(crate) fn add(&mut self, tokens: i64) {
        self.tokens = self.tokens.saturating_add(tokens);
    }
}
