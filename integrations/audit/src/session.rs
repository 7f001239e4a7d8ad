//! A recorded conversation: the items of its requests, and the calls that were made.

use std::collections::BTreeMap;
use std::ops::Range;

use cupel_json::{Endpoint, JsonBody};
use serde_json::value::RawValue;

use crate::item::Item;

/// A recorded conversation, as it is replayed turn by turn.
#[derive(Debug, Clone)]
#[must_use]
pub struct Session {
    /// Place of the session: a file, and the line in it.
    pub(crate) place: String,
    /// Name that the recording gives it.
    pub(crate) name: Option<String>,
    pub(crate) endpoint: Endpoint,
    /// Fields of the request besides its messages.
    pub(crate) fields: BTreeMap<String, Box<RawValue>>,
    pub(crate) items: Vec<Item>,
    /// Set if the recording is a request whose answer is not known.
    pub(crate) is_request: bool,
}

/// A call of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionCall {
    /// Number of items that the call was made with.
    pub(crate) known: usize,
    /// Items of the answer.
    pub(crate) answer: Range<usize>,
}

impl Session {
    /// Place of the session: a file, and the line in it.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Name that the recording gives the session.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// API that the session was recorded from.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// Number of messages, or of items of the Responses API.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if there is no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Model that the session names.
    #[must_use]
    pub fn model(&self) -> Option<String> {
        self.fields.get("model").and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// The calls, in their order. Each recorded answer is one; so is a request without its answer.
    pub(crate) fn calls(&self) -> Vec<SessionCall> {
        let joins = self.endpoint == Endpoint::Responses;
        let mut calls: Vec<SessionCall> = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            if !item.is_output {
                continue;
            }
            match calls.last_mut() {
                // A response may be several items.
                Some(call) if joins && call.answer.end == at => call.answer.end = at + 1,
                // A recording may begin with the model's greeting.
                _ if self.items.iter().take(at).all(|before| before.is_instruction) => {}
                _ => calls.push(SessionCall { known: at, answer: at..at + 1 }),
            }
        }
        let is_open = self.items.last().is_some_and(|last| !last.is_output);
        if self.is_request && is_open {
            let end = self.items.len();
            calls.push(SessionCall { known: end, answer: end..end });
        }
        calls
    }

    /// The request with these items.
    pub(crate) fn body(&self, items: impl Iterator<Item = usize>) -> Option<JsonBody> {
        let json = self.json(items, |_| true);
        JsonBody::parse(self.endpoint, json)
    }

    /// The request with these items, and with the fields that a filter takes.
    pub(crate) fn json(
        &self,
        items: impl Iterator<Item = usize>,
        takes: impl Fn(&str) -> bool,
    ) -> String {
        let list = if self.endpoint == Endpoint::Responses { "input" } else { "messages" };
        let mut json = String::from("{");
        for (name, value) in self.fields.iter().filter(|(name, _)| takes(name)) {
            json.push_str(&serde_json::to_string(name).unwrap_or_default());
            json.push(':');
            json.push_str(value.get());
            json.push(',');
        }
        json.push('"');
        json.push_str(list);
        json.push_str("\":[");
        for (number, item) in items.filter_map(|at| self.items.get(at)).enumerate() {
            if number > 0 {
                json.push(',');
            }
            json.push_str(&item.json);
        }
        json.push_str("]}");
        json
    }
}
