//! What the parts of a request cost.

use std::sync::Arc;

use cupel::conversation::Role;
use cupel::tokens::{FormatOverhead, TokenCounter};
use serde::Serialize;

use super::MediaTokens;

/// What is sent around messages, in every provider's format about the same.
pub(super) const FORMAT: FormatOverhead = FormatOverhead::CHAT;

/// Counts the parts of one request.
pub(super) struct Count {
    counter: Arc<dyn TokenCounter>,
    pub(super) media: MediaTokens,
    /// Whether calls and results are sent as such. In a request without tools rig sends them as
    /// text.
    pub(super) tools: bool,
    /// What a message of the system, the user, the model and a tool costs beside its parts.
    messages: [i64; 4],
    /// Where JSON is written to be counted; kept, since tool calls come by the thousand.
    json: Vec<u8>,
}

impl Count {
    pub(super) fn new(counter: Arc<dyn TokenCounter>, media: MediaTokens, tools: bool) -> Self {
        let messages = ["system", "user", "assistant", "tool"];
        let messages = messages.map(|role| FORMAT.message(&*counter, role));
        Self { counter, media, tools, messages, json: Vec::new() }
    }

    /// What a message in this role costs beside its parts.
    pub(super) fn message(&self, role: Role) -> i64 {
        let [system, user, assistant, tool] = self.messages;
        match role {
            Role::System => system,
            Role::User => user,
            Role::Tool => tool,
            _ => assistant,
        }
    }

    pub(super) fn counter(&self) -> &dyn TokenCounter {
        &*self.counter
    }

    pub(super) fn text(&self, text: &str) -> i64 {
        // A counter of the caller's may say anything; less than nothing would make room.
        self.counter.count(text).max(0)
    }

    /// Something that is sent as JSON.
    pub(super) fn json(&mut self, value: &impl Serialize) -> i64 {
        self.json.clear();
        if serde_json::to_writer(&mut self.json, value).is_err() {
            return 0; // then it cannot be sent either
        }
        str::from_utf8(&self.json).map_or(0, |json| self.text(json))
    }

    /// A document as it is rendered, in a message of its own.
    pub(super) fn document(&self, rendered: &str) -> i64 {
        self.text(rendered).saturating_add(self.message(Role::User))
    }
}
