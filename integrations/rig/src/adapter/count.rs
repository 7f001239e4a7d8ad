//! What the parts of a request cost.

use std::sync::Arc;

use cupel::tokens::TokenCounter;
use serde::Serialize;

use super::MediaTokens;

/// Every message costs these beside its parts, and so does every document.
pub(super) const PER_MESSAGE: i64 = 3;
/// Every tool call costs these beside its name and arguments.
pub(super) const PER_CALL: i64 = 3;
/// Every tool definition costs these beside its JSON.
pub(super) const PER_TOOL: i64 = 3;
/// What primes the answer, once a request.
pub(super) const PRIMING: i64 = 3;

/// Counts the parts of one request.
pub(super) struct Count {
    counter: Arc<dyn TokenCounter>,
    pub(super) media: MediaTokens,
    /// Where JSON is written to be counted; kept, since tool calls come by the thousand.
    json: Vec<u8>,
}

impl Count {
    pub(super) fn new(counter: Arc<dyn TokenCounter>, media: MediaTokens) -> Self {
        Self { counter, media, json: Vec::new() }
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

    /// A document as it is rendered.
    pub(super) fn document(&self, rendered: &str) -> i64 {
        self.text(rendered).saturating_add(PER_MESSAGE)
    }
}
