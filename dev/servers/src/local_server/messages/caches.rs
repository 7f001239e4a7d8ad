//! Prompt caching: where marks may stand, and what a marked request reads and writes.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use super::{RefusedItem, blocks, count, is_thought, messages, models};

/// So many blocks before a mark are looked at.
const LOOK_BACK: usize = 20;
const MOST: usize = 4;

/// A block of the prompt, in the order in which it is cached: tools, instructions, messages.
struct Block {
    hash: u64,
    /// Tokens up to its end.
    tokens: i64,
    mark: Option<Value>,
}

/// Rule 17.
pub fn check(request: &Value) -> Result<(), RefusedItem> {
    let mut lives = Vec::new();
    let all = listed(request);
    for block in &all {
        for part in inner(block).into_iter().chain([block.clone()]) {
            let mark = &part["cache_control"];
            if mark.is_null() {
                continue;
            }
            if is_thought(&part) {
                return Err("cache_control cannot be set on `thinking` blocks".into());
            }
            if mark["type"] != "ephemeral" {
                return Err("cache_control.type: Input should be 'ephemeral'".into());
            }
            match mark["ttl"].as_str() {
                None | Some("5m") => lives.push(5),
                Some("1h") => lives.push(60),
                Some(other) => {
                    return Err(format!(
                        "cache_control.ttl: Input should be '5m' or '1h', got '{other}'"
                    )
                    .into());
                }
            }
        }
    }
    if request["cache_control"].is_object() {
        lives.push(if request["cache_control"]["ttl"] == "1h" { 60 } else { 5 });
    }
    if lives.len() > MOST {
        let found = lives.len();
        return Err(format!(
            "A maximum of {MOST} blocks with cache_control may be provided. Found {found}."
        )
        .into());
    }
    if !lives.is_sorted_by(|a, b| a >= b) {
        return Err(
            "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
                .into(),
        );
    }
    Ok(())
}

fn listed(request: &Value) -> Vec<Value> {
    let mut all: Vec<Value> = request["tools"].as_array().cloned().unwrap_or_default();
    match &request["system"] {
        Value::String(text) => all.push(json!({"type": "text", "text": text})),
        Value::Array(parts) => all.extend(parts.iter().cloned()),
        _ => {}
    }
    all.extend(messages(request).iter().flat_map(blocks));
    all
}

fn inner(block: &Value) -> Vec<Value> {
    block["content"].as_array().cloned().unwrap_or_default()
}

fn prompt(request: &Value) -> Vec<Block> {
    let mut hasher = DefaultHasher::new();
    let mut tokens = 0;
    let listed = listed(request);
    let last = listed.len().saturating_sub(1);
    let block = |(at, mut block): (usize, Value)| {
        tokens += count::block(request, &block);
        let mut mark = block.as_object_mut().and_then(|fields| fields.remove("cache_control"));
        for part in block["content"].as_array_mut().into_iter().flatten() {
            let inner = part.as_object_mut().and_then(|fields| fields.remove("cache_control"));
            mark = mark.take().or(inner);
        }
        if at == last && mark.is_none() {
            mark = request.get("cache_control").cloned();
        }
        block.to_string().hash(&mut hasher);
        Block { hash: hasher.finish(), tokens, mark }
    };
    listed.into_iter().enumerate().map(block).collect()
}

/// Entries of the cache.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    written: HashSet<u64>,
}

/// Tokens that a request read from the cache, wrote to it, and paid in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub read: i64,
    pub written: i64,
    pub new: i64,
}

impl Usage {
    /// In tokens at the full price: a tenth for what is read, a quarter more for what is written.
    pub fn cost(&self) -> f64 {
        self.read as f64 * 0.1 + self.written as f64 * 1.25 + self.new as f64
    }

    pub fn total(&self) -> i64 {
        self.read + self.written + self.new
    }
}

impl Memory {
    /// Serves a request that is not refused.
    pub fn serve(&mut self, request: &Value) -> Usage {
        let total = count::request(request);
        let least = models::of(request).map_or(i64::MAX, |model| model.cached_from);
        let blocks = prompt(request);
        let mut read = 0;
        let mut end = 0;
        for (at, block) in blocks.iter().enumerate().filter(|(_, block)| block.mark.is_some()) {
            if block.tokens < least {
                continue;
            }
            end = block.tokens;
            let window = blocks.iter().take(at + 1).rev().take(LOOK_BACK);
            let hit = window.filter(|block| block.tokens >= least);
            let hit =
                hit.filter(|block| self.written.contains(&block.hash)).map(|block| block.tokens);
            read = read.max(hit.max().unwrap_or(0));
        }
        let marked = blocks.iter().filter(|block| block.mark.is_some() && block.tokens >= least);
        self.written.extend(marked.map(|block| block.hash));
        let written = (end - read).max(0);
        Usage { read, written, new: total - read - written }
    }
}
