//! Prompt caches: what of a request is read, written and new.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::messages::cache::Blocks;
use crate::session::tokens_of;

/// A request as a provider's cache sees it.
pub struct Rendered {
    pub bytes: String,
    /// End of each message in the bytes, and its tokens.
    ends: Vec<(usize, i64)>,
    /// Flags of the messages that carry a marker.
    marked: Vec<bool>,
}

impl Rendered {
    pub fn new(messages: &[Value]) -> Self {
        let mut bytes = String::new();
        let mut ends = Vec::new();
        let mut marked = Vec::new();
        for message in messages {
            let mut message = message.clone();
            marked.push(take_markers(&mut message));
            bytes.push_str(&message.to_string());
            bytes.push('\n');
            ends.push((bytes.len(), tokens_of(&message)));
        }
        Self { bytes, ends, marked }
    }

    /// One that was cut into blocks.
    pub fn of(blocks: Blocks) -> Self {
        let tokens = blocks.tokens();
        let bytes = blocks.bytes;
        Self { ends: vec![(bytes.len(), tokens)], marked: vec![false], bytes }
    }

    pub fn tokens(&self) -> i64 {
        self.ends.iter().map(|(_, tokens)| tokens).sum()
    }

    /// Number of bytes at the start that are the same as in another request.
    pub fn common_bytes(&self, other: &Self) -> usize {
        let both = self.bytes.as_bytes().iter().zip(other.bytes.as_bytes());
        both.take_while(|(a, b)| a == b).count()
    }

    /// Tokens at the start that are the same as in another request.
    pub fn shared_tokens(&self, other: &Self) -> i64 {
        self.tokens_within(self.common_bytes(other))
    }

    /// The tokens of so many bytes.
    fn tokens_within(&self, bytes: usize) -> i64 {
        let mut start = 0;
        let mut sum = 0.0;
        for (end, tokens) in &self.ends {
            if *end <= bytes {
                sum += *tokens as f64;
            } else {
                let part = bytes.saturating_sub(start) as f64 / (*end - start) as f64;
                sum += *tokens as f64 * part;
                break;
            }
            start = *end;
        }
        sum as i64
    }

    /// The cost where any prefix from 1,024 tokens on is read for a tenth, in steps of 128.
    pub fn cost(&self, before: Option<&Self>) -> f64 {
        let known = before.map_or(0, |before| self.tokens_within(self.common_bytes(before)));
        let read = if known < 1_024 { 0 } else { known / 128 * 128 };
        (self.tokens() - read) as f64 + read as f64 / 10.0
    }
}

fn take_markers(message: &mut Value) -> bool {
    let mut found = false;
    for part in message["content"].as_array_mut().into_iter().flatten() {
        if let Some(part) = part.as_object_mut() {
            found |= part.shift_remove("prompt_cache_breakpoint").is_some();
        }
    }
    // A text that had to become a part to carry a marker is still that text.
    let single = match message["content"].as_array().map(Vec::as_slice) {
        Some([part]) if found && part["type"] == "text" => Some(part["text"].clone()),
        _ => None,
    };
    if let Some(text) = single {
        message["content"] = text;
    }
    found
}

/// A cache that matches only at markers, exactly; writes cost 1.25 times.
#[derive(Default)]
pub struct Breakpoints {
    written: HashSet<u64>,
}

impl Breakpoints {
    /// The cost of a request. An implicit marker stands on the newest message; the latest four are
    /// written, and any of the latest 80 is read.
    pub fn cost(&mut self, request: &Rendered) -> f64 {
        let mut sum = 0;
        let mut points = Vec::new();
        let last = request.ends.len().saturating_sub(1);
        for (at, (end, tokens)) in request.ends.iter().enumerate() {
            sum += tokens;
            if (request.marked[at] || at == last) && sum >= 1_024 {
                let mut hasher = DefaultHasher::new();
                request.bytes[..*end].hash(&mut hasher);
                points.push((hasher.finish(), sum));
            }
        }
        let latest = |count: usize| points.iter().rev().take(count);
        let read = latest(80).find(|(hash, _)| self.written.contains(hash)).map_or(0, |(_, t)| *t);
        let to = points.last().map_or(0, |(_, tokens)| *tokens);
        let written = (to - read).max(0);
        let new = sum - read - written;
        self.written.extend(points.iter().rev().take(4).map(|(hash, _)| *hash));
        read as f64 / 10.0 + written as f64 * 1.25 + new as f64
    }
}
