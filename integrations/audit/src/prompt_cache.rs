//! Prompt caches of providers, by their published rules: the part of a request that would be read.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::blocks::Block;

/// Rule by which a provider's cache finds the beginning of a request again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CacheMatch {
    /// Any prefix of the request before, from 1,024 tokens on, in steps of 128. Writing is free.
    Prefix,
    /// Only at breakpoints, and at the newest message. OpenAI's models do so from GPT-5.6 on.
    Breakpoints,
    /// At marks, and 20 blocks before each, as Anthropic's models do. A request without marks is taken as
    /// marked at its end.
    Marks,
}

/// Blocks of a request with their tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct RenderedRequest {
    bytes: String,
    /// End of each block in the bytes, its tokens, and its mark.
    blocks: Vec<(usize, f64, bool)>,
}

/// Tokens of one call, as the cache took them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct CacheUse {
    pub(crate) tokens: i64,
    pub(crate) cached: i64,
    pub(crate) written: i64,
    pub(crate) bytes: u64,
    /// Bytes at the beginning that are those of the request before.
    pub(crate) same_bytes: u64,
}

impl RenderedRequest {
    /// Adds the blocks of a message with these tokens.
    pub(crate) fn add(&mut self, blocks: &[Block], tokens: i64) {
        let all: usize = blocks.iter().map(|block| block.text.len()).sum();
        for block in blocks {
            self.bytes.push_str(&block.text);
            let share = block.text.len() as f64 / all.max(1) as f64;
            self.blocks.push((self.bytes.len(), tokens as f64 * share, block.is_marked));
        }
    }

    fn tokens(&self) -> f64 {
        self.blocks.iter().map(|(_, tokens, _)| tokens).sum()
    }

    fn common_bytes(&self, other: &Self) -> usize {
        let both = self.bytes.as_bytes().iter().zip(other.bytes.as_bytes());
        both.take_while(|(a, b)| a == b).count()
    }

    /// Tokens of the first bytes. A block that they end in counts in part.
    fn tokens_within(&self, bytes: usize) -> f64 {
        let (mut start, mut sum) = (0, 0.0);
        for (end, tokens, _) in &self.blocks {
            if *end > bytes {
                let part = bytes.saturating_sub(start) as f64 / (end - start).max(1) as f64;
                return sum + tokens * part;
            }
            sum += tokens;
            start = *end;
        }
        sum
    }
}

/// The shortest prefix that is cached.
const LEAST: f64 = 1_024.0;

/// Blocks before a mark among which Anthropic's cache looks for what it knows.
const LOOK_BACK: usize = 20;

/// Latest breakpoints that OpenAI's cache reads, and that it writes.
const READ: usize = 80;
const WRITTEN: usize = 4;

/// Cache of one conversation.
#[derive(Debug)]
pub(crate) struct PromptCache {
    rule: CacheMatch,
    before: Option<RenderedRequest>,
    written: HashSet<u64>,
}

impl PromptCache {
    pub(crate) fn new(rule: CacheMatch) -> Self {
        Self { rule, before: None, written: HashSet::new() }
    }

    /// Takes the next request of the conversation.
    pub(crate) fn call(&mut self, request: RenderedRequest) -> CacheUse {
        let same = self.before.as_ref().map_or(0, |before| request.common_bytes(before));
        let (cached, written) = match self.rule {
            CacheMatch::Prefix => (prefix(&request, same), 0.0),
            CacheMatch::Breakpoints => self.breakpoints(&request),
            CacheMatch::Marks => self.marks(&request),
        };
        let call = CacheUse {
            tokens: request.tokens().round() as i64,
            cached: cached.round() as i64,
            written: written.round() as i64,
            bytes: request.bytes.len() as u64,
            same_bytes: same as u64,
        };
        self.before = Some(request);
        call
    }

    /// Places where the cache may match: hash and tokens of everything up to there.
    fn points(request: &RenderedRequest) -> Vec<(u64, f64)> {
        let mut hasher = DefaultHasher::new();
        let (mut start, mut sum) = (0, 0.0);
        let point = |(end, tokens, _): &(usize, f64, bool)| {
            request.bytes.get(start..*end).unwrap_or_default().hash(&mut hasher);
            start = *end;
            sum += tokens;
            (hasher.finish(), sum)
        };
        request.blocks.iter().map(point).collect()
    }

    fn breakpoints(&mut self, request: &RenderedRequest) -> (f64, f64) {
        let last = request.blocks.len().saturating_sub(1);
        let points = Self::points(request).into_iter().zip(&request.blocks).enumerate();
        let points: Vec<(u64, f64)> = points
            .filter(|(at, ((_, sum), (_, _, is_marked)))| {
                (*is_marked || *at == last) && *sum >= LEAST
            })
            .map(|(_, (point, _))| point)
            .collect();
        let mut latest = points.iter().rev().take(READ);
        let read =
            latest.find(|(hash, _)| self.written.contains(hash)).map_or(0.0, |(_, sum)| *sum);
        let end = points.last().map_or(0.0, |(_, sum)| *sum);
        self.written.extend(points.iter().rev().take(WRITTEN).map(|(hash, _)| *hash));
        (read, (end - read).max(0.0))
    }

    fn marks(&mut self, request: &RenderedRequest) -> (f64, f64) {
        let points = Self::points(request);
        let marked = request.blocks.iter().enumerate().filter(|(_, (_, _, is_marked))| *is_marked);
        let mut marks: Vec<usize> = marked.map(|(at, _)| at).collect();
        if marks.is_empty() {
            marks.extend(points.len().checked_sub(1));
        }
        marks.retain(|at| points.get(*at).is_some_and(|(_, sum)| *sum >= LEAST));
        let found = |mark: &usize| {
            let near = points.iter().take(mark + 1).rev().take(LOOK_BACK);
            near.filter(|(hash, _)| self.written.contains(hash)).map(|(_, sum)| *sum).next()
        };
        let read = marks.iter().filter_map(found).fold(0.0, f64::max);
        let end = marks.last().and_then(|at| points.get(*at)).map_or(0.0, |(_, sum)| *sum);
        self.written.extend(marks.iter().filter_map(|at| points.get(*at)).map(|(hash, _)| *hash));
        (read, (end - read).max(0.0))
    }
}

/// Tokens that are read if any prefix is.
fn prefix(request: &RenderedRequest, same_bytes: usize) -> f64 {
    const STEP: f64 = 128.0;
    let known = request.tokens_within(same_bytes);
    if known < LEAST { 0.0 } else { (known / STEP).floor() * STEP }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(messages: &[(&str, i64, bool)]) -> RenderedRequest {
        let mut request = RenderedRequest::default();
        for (text, tokens, is_marked) in messages {
            request.add(&[Block { text: (*text).into(), is_marked: *is_marked }], *tokens);
        }
        request
    }

    fn uses(rule: CacheMatch, requests: &[RenderedRequest]) -> Vec<(i64, i64)> {
        let mut cache = PromptCache::new(rule);
        let uses = requests.iter().map(|request| cache.call(request.clone()));
        uses.map(|call| (call.cached, call.written)).collect()
    }

    #[test]
    fn a_prefix_is_read_in_steps_and_a_changed_beginning_is_not() {
        let first = request(&[("head", 2_000, false), ("one", 500, false)]);
        let next = request(&[("head", 2_000, false), ("one", 500, false), ("two", 100, false)]);
        let other = request(&[("HEAD", 2_000, false), ("one", 500, false)]);
        let short = request(&[("head", 900, false)]);
        let prefix = |list: &[RenderedRequest]| uses(CacheMatch::Prefix, list);
        // 2,500 tokens are 19 steps of 128.
        assert_eq!(prefix(&[first.clone(), next]), [(0, 0), (2_432, 0)]);
        assert_eq!(prefix(&[first, other]), [(0, 0), (0, 0)]);
        assert_eq!(prefix(&[short.clone(), short]), [(0, 0), (0, 0)]);
    }

    #[test]
    fn marks_are_written_once_and_read_afterwards() {
        let first = request(&[("head", 2_000, true), ("one", 500, false)]);
        let next = request(&[("head", 2_000, true), ("two", 500, true)]);
        assert_eq!(uses(CacheMatch::Marks, &[first.clone(), next]), [(0, 2_000), (2_000, 500)]);
        // A request without marks is marked at its end.
        let plain = request(&[("head", 2_000, false), ("one", 500, false)]);
        let longer = request(&[("head", 2_000, false), ("one", 500, false), ("two", 9, false)]);
        assert_eq!(uses(CacheMatch::Marks, &[plain, longer]), [(0, 2_500), (2_500, 9)]);
        // OpenAI marks the newest message by itself, but matches there exactly.
        let changed = request(&[("head", 2_000, true), ("two", 500, false)]);
        assert_eq!(uses(CacheMatch::Breakpoints, &[first, changed]), [(0, 2_500), (2_000, 500)]);
    }
}
