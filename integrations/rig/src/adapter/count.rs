//! What the parts of a request cost.

use std::sync::Arc;

use cupel::conversation::Role;
use cupel::tokens::{ClaudeTokenizer, FormatOverhead, TokenCounter};
use serde::Serialize;
use serde_json::Value;

use super::MediaTokens;

/// Counts the parts of one request.
pub(super) struct Count {
    counter: Arc<dyn TokenCounter>,
    /// What is sent around messages: in Anthropic's format or in OpenAI's, to which other providers' come
    /// close.
    pub(super) format: FormatOverhead,
    /// Of a Claude model.
    claude: Option<ClaudeTokenizer>,
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
    pub(super) fn new(
        counter: Arc<dyn TokenCounter>,
        claude: Option<ClaudeTokenizer>,
        media: MediaTokens,
        tools: bool,
    ) -> Self {
        let format = claude.map_or(FormatOverhead::CHAT, |_| FormatOverhead::CLAUDE);
        let messages = ["system", "user", "assistant", "tool"];
        let messages = messages.map(|role| format.message(&*counter, role));
        Self { counter, format, claude, media, tools, messages, json: Vec::new() }
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

    /// What one more part costs in a message. OpenAI's Responses take each as an item of its own; which of
    /// its APIs it will be is not known here, so it is the most.
    pub(super) fn part(&self, role: Role) -> i64 {
        if self.claude.is_some() { self.format.per_part } else { self.message(role) }
    }

    /// What a message in this role costs beside what its parts say; one without any is sent as one with
    /// an empty text.
    pub(super) fn frame(&self, role: Role, parts: impl IntoIterator<Item = Role>) -> i64 {
        let message = if self.claude.is_some() { self.message(role) } else { 0 };
        let parts = parts.into_iter().map(|role| self.part(role)).fold(0, i64::saturating_add);
        message.saturating_add(if parts == 0 { self.part(role) } else { parts })
    }

    /// What each part of a tool's result costs, where such a result is a list of them.
    pub(super) fn nested(&self) -> i64 {
        if self.tools { self.format.per_part } else { 0 }
    }

    /// What only its provider can read, beside the text of it that anybody can: of Claude's thoughts that
    /// is the same, or a part.
    pub(super) fn sealed(&self, item: &Value, text: i64) -> i64 {
        let bytes = sealed_bytes(item);
        match self.claude {
            None => text.saturating_add(tokens_of_base64(bytes)),
            Some(claude) => {
                let tokens = tokens_of_base64(bytes).saturating_mul(claude.text_percent());
                text.max(tokens.saturating_add(99) / 100)
            }
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
        self.text(rendered).saturating_add(self.frame(Role::User, [Role::User]))
    }
}

/// Fields that hold what only a provider can read, in base64.
const SEALED: [&str; 3] = ["signature", "encrypted_content", "data"];

fn sealed_bytes(item: &Value) -> usize {
    let fields = SEALED.iter().filter_map(|field| item.get(*field)?.as_str());
    fields.map(str::len).sum()
}

/// Four characters carry three bytes, and a token is about four bytes of text.
fn tokens_of_base64(characters: usize) -> i64 {
    i64::try_from((characters / 4 * 3).div_ceil(4)).unwrap_or(i64::MAX)
}
