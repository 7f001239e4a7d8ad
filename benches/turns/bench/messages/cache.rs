//! Cost of a request by the rules of Anthropic's prompt cache.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::{BLOCK, MESSAGE, TOOLS, block_tokens};
use crate::session::count;

/// So many blocks before a mark are looked at for what was written there.
const LOOK_BACK: usize = 20;
/// The shortest prefix that is cached.
const LEAST: i64 = 1_024;

/// A request as the cache sees it: block by block, tools first, without marks.
pub struct Blocks {
    pub bytes: String,
    blocks: Vec<Block>,
}

struct Block {
    /// End of the block in the bytes.
    end: usize,
    tokens: i64,
    marked: bool,
}

impl Blocks {
    pub fn new(body: &Value) -> Self {
        let mut all = Self { bytes: String::new(), blocks: Vec::new() };
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        for (at, tool) in list(&body["tools"]).into_iter().enumerate() {
            let prompt = if at == 0 { TOOLS } else { 0 };
            let tokens = prompt + BLOCK + count(&tool.to_string());
            all.add("tool", tool, tokens);
        }
        for block in list(&body["system"]) {
            let tokens = block_tokens(&block);
            all.add("system", block, tokens);
        }
        for message in list(&body["messages"]) {
            let role = message["role"].as_str().unwrap_or_default();
            for (at, block) in list(&message["content"]).into_iter().enumerate() {
                let format = if at == 0 { MESSAGE } else { 0 };
                let tokens = format + block_tokens(&block);
                all.add(role, block, tokens);
            }
        }
        if let (Some(last), true) = (all.blocks.last_mut(), body["cache_control"].is_object()) {
            last.marked = true;
        }
        all
    }

    fn add(&mut self, role: &str, mut block: Value, tokens: i64) {
        let fields = block.as_object_mut().unwrap();
        fields.shift_remove("place");
        let marked = fields.shift_remove("cache_control").is_some();
        self.bytes.push_str(role);
        self.bytes.push_str(&block.to_string());
        self.bytes.push('\n');
        self.blocks.push(Block { end: self.bytes.len(), tokens, marked });
    }

    pub fn tokens(&self) -> i64 {
        self.blocks.iter().map(|block| block.tokens).sum()
    }
}

/// Everything that was written so far.
#[derive(Default)]
pub struct Cache {
    written: HashSet<u64>,
}

impl Cache {
    /// The cost of a request: what is read costs a tenth, what is written a quarter more.
    pub fn cost(&mut self, request: &Blocks) -> f64 {
        let mut sum = 0;
        let mut ends = Vec::with_capacity(request.blocks.len());
        let mut hasher = DefaultHasher::new();
        let mut start = 0;
        for block in &request.blocks {
            request.bytes[start..block.end].hash(&mut hasher);
            start = block.end;
            sum += block.tokens;
            ends.push((hasher.finish(), sum));
        }
        let marks = request.blocks.iter().enumerate().filter(|(_, block)| block.marked);
        let marks: Vec<usize> = marks.map(|(at, _)| at).filter(|at| ends[*at].1 >= LEAST).collect();
        let found = |mark: &usize| {
            let near = ends[..=*mark].iter().rev().take(LOOK_BACK);
            near.filter(|(hash, _)| self.written.contains(hash)).map(|(_, tokens)| *tokens).max()
        };
        let read = marks.iter().filter_map(found).max().unwrap_or(0);
        let written = marks.last().map_or(0, |mark| (ends[*mark].1 - read).max(0));
        self.written.extend(marks.iter().map(|mark| ends[*mark].0));
        read as f64 / 10.0 + written as f64 * 1.25 + (sum - read - written) as f64
    }
}
