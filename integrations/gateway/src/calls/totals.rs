//! Sums over all calls since the gateway was started.

use super::Call;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) calls: u64,
    /// Calls that went out as they came.
    pub(crate) passed: u64,
    /// Tokens sent.
    pub(crate) sent: i64,
    /// Tokens left out.
    pub(crate) left_out: i64,
    /// Tokens expected to be read from the upstream's cache.
    pub(crate) expected_cached: i64,
    /// Tokens that upstreams said they read from their caches.
    pub(crate) cached: i64,
}

impl Totals {
    pub(super) fn begin(&mut self, call: &Call) {
        self.calls += 1;
        match call.fitted() {
            None => self.passed += 1,
            Some(fitted) => {
                self.sent = self.sent.saturating_add(fitted.tokens);
                self.left_out = self.left_out.saturating_add(fitted.left_out);
                self.expected_cached = self.expected_cached.saturating_add(fitted.cached);
            }
        }
    }

    pub(super) fn read_from_cache(&mut self, tokens: i64) {
        self.cached = self.cached.saturating_add(tokens);
    }
}
