//! Sums over the calls of a replay.

use serde::Serialize;

use crate::prompt_cache::{CacheMatch, CacheUse};

/// Sums over calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CallTally {
    /// Number of calls.
    pub calls: u64,
    /// Tokens of their requests.
    pub tokens: i64,
    /// Tokens that a prompt cache would have read.
    pub cached: i64,
    /// Tokens that a prompt cache would have been paid to take up.
    pub written: i64,
    /// Bytes of their prompts.
    pub bytes: u64,
    /// Bytes at the beginning of each prompt that are those of the prompt before.
    pub same_bytes: u64,
    /// Cost of the input, in new tokens.
    pub cost: f64,
    /// Cost of the input in dollars, of the calls whose model has a price.
    pub dollars: f64,
}

impl CallTally {
    pub(crate) fn add(
        &mut self,
        call: &CacheUse,
        rule: CacheMatch,
        price: Option<crate::InputPrice>,
    ) {
        let new = call.tokens.saturating_sub(call.cached).saturating_sub(call.written);
        let write = if rule == CacheMatch::Prefix { 1.0 } else { 1.25 };
        self.calls += 1;
        self.tokens = self.tokens.saturating_add(call.tokens);
        self.cached = self.cached.saturating_add(call.cached);
        self.written = self.written.saturating_add(call.written);
        self.bytes = self.bytes.saturating_add(call.bytes);
        self.same_bytes = self.same_bytes.saturating_add(call.same_bytes);
        self.cost += new as f64 + call.cached as f64 / 10.0 + call.written as f64 * write;
        self.dollars += price.map_or(0.0, |price| price.dollars(new, call.cached, call.written));
    }

    /// Share of the bytes that are a prefix of the request before.
    #[must_use]
    pub fn prefix_share(&self) -> f64 {
        if self.bytes == 0 { 1.0 } else { self.same_bytes as f64 / self.bytes as f64 }
    }
}

/// Sums over the calls of one way to fit requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WayTally {
    /// Every call that could be fitted.
    pub all: CallTally,
    /// Calls whose whole request is larger than the window.
    pub cut: CallTally,
    /// Calls that could not be fitted.
    pub unfitted: u64,
    /// Calls whose answer used a value that exists only in what was cut.
    pub regretted_calls: u64,
    /// Number of such values.
    pub regretted_values: u64,
    /// Calls that repeat an earlier one whose result would have been cut, and users who repeat such a
    /// message. The recording had everything in view.
    pub repeats: u64,
}
