//! Sums over calls that were fitted, beside calls that were only planned.

use cupel_audit::TurnRepeats;
use serde::Serialize;

use crate::proxy::Usage;

/// Code of calls that are planned beside the call and sent unchanged.
pub(crate) const SHADOW: &str = "shadow";

/// Side of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Fitted,
    Shadow,
}

impl Side {
    /// Returns the name in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fitted => "fitted",
            Self::Shadow => "unchanged",
        }
    }
}

/// Sums over both sides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct SideTotals {
    pub(crate) fitted: SideSums,
    pub(crate) shadow: SideSums,
    /// Requests that would have been sent in the place of those on the shadow side.
    pub(crate) planned: PlannedSums,
}

/// Sums over the calls of one side, by the numbers of the upstreams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct SideSums {
    pub(crate) calls: u64,
    /// Calls whose usage the upstream reported.
    pub(crate) counted: u64,
    pub(crate) input: i64,
    pub(crate) cached: i64,
    /// Cost of the input in new tokens.
    pub(crate) cost: f64,
    pub(crate) milliseconds: f64,
    /// Turns after a request that was cut, or would have been, and those that repeat what was cut.
    pub(crate) cut_turns: u64,
    pub(crate) cut_repeats: u64,
    /// Other turns, and those with any repeat.
    pub(crate) whole_turns: u64,
    pub(crate) whole_repeats: u64,
}

/// Sums over requests that would have been sent, by the gateway's count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct PlannedSums {
    pub(crate) calls: u64,
    pub(crate) tokens: i64,
    pub(crate) dropped: i64,
    pub(crate) cached: i64,
    pub(crate) cost: f64,
    pub(crate) original_bytes: usize,
    pub(crate) sent_bytes: usize,
}

impl SideSums {
    /// Adds a call that has ended.
    pub(crate) fn add(&mut self, usage: Option<Usage>, milliseconds: f64) {
        self.calls += 1;
        self.milliseconds += milliseconds;
        if let Some(usage) = usage {
            self.counted += 1;
            self.input = self.input.saturating_add(usage.input);
            self.cached = self.cached.saturating_add(usage.cached);
            let new = usage.input.saturating_sub(usage.cached);
            self.cost += new as f64 + usage.cached as f64 / 10.0;
        }
    }
}

impl SideSums {
    /// Adds a turn that was looked at.
    pub(crate) fn turn(&mut self, turn: TurnRepeats) {
        let (turns, repeats) = match turn.is_cut {
            true => (&mut self.cut_turns, &mut self.cut_repeats),
            false => (&mut self.whole_turns, &mut self.whole_repeats),
        };
        *turns += 1;
        *repeats += u64::from(turn.repeats > 0);
    }
}

impl PlannedSums {
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.dropped = self.dropped.saturating_add(other.dropped);
        self.cached = self.cached.saturating_add(other.cached);
        self.cost += other.cost;
        self.original_bytes = self.original_bytes.saturating_add(other.original_bytes);
        self.sent_bytes = self.sent_bytes.saturating_add(other.sent_bytes);
    }
}
