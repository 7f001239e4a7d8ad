//! Time that work takes: learned from the calls before, or cut into slices of a millisecond.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Time that a candidate took in the calls before.
///
/// The pipeline can say what its own parts cost. A user's scorer or judge may take a hundred times as
/// long, and need not know.
#[derive(Debug, Default)]
pub(crate) struct LearnedCost {
    /// Nanoseconds a candidate of the last two calls took; 0 is not known.
    recent: [AtomicU64; 2],
}

impl LearnedCost {
    /// Ignore short runs with fewer candidates: overhead dominates their timing.
    const FEWEST: usize = 64;
    const SHORT: Duration = Duration::from_millis(1);

    /// Notes how long so many candidates took.
    pub(crate) fn note(&self, candidates: usize, elapsed: Duration) {
        if candidates == 0 || (candidates < Self::FEWEST && elapsed < Self::SHORT) {
            return;
        }
        let each = elapsed.as_nanos() / candidates as u128;
        let each = u64::try_from(each).unwrap_or(u64::MAX).max(1);
        // Two calls that do this at once may lose a number, and no harm is done.
        let [last, before] = &self.recent;
        before.store(last.swap(each, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Nanoseconds that so many candidates will take; 0 when it is not known.
    ///
    /// The lesser of what two calls have shown: one may have been interrupted by something else.
    pub(crate) fn of(&self, candidates: usize) -> u64 {
        let known = self.recent.iter().map(|each| each.load(Ordering::Relaxed));
        let least = known.filter(|each| *each > 0).min().unwrap_or(0);
        least.saturating_mul(candidates as u64)
    }
}

/// Length of a slice, about.
const LENGTH: Duration = Duration::from_millis(1);

/// The most pieces of work between two looks at the clock.
const FASTEST_PACE: usize = 16;

/// Says when the time is over, with few looks at the clock while the work is fast.
#[derive(Debug)]
pub(crate) struct TimeSlice {
    begun: Instant,
    pace: Pace,
    until_look: usize,
}

/// Number of pieces of work between two looks at the clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace(usize);

impl Default for Pace {
    /// For work that nobody has seen yet.
    fn default() -> Self {
        Self(1)
    }
}

impl TimeSlice {
    pub(crate) fn begin(pace: Pace) -> Self {
        Self { begun: Instant::now(), pace, until_look: pace.0 }
    }

    /// Returns true if it is over. Called after each piece of work.
    pub(crate) fn is_over(&mut self) -> bool {
        self.until_look -= 1;
        if self.until_look > 0 {
            return false;
        }
        let over = self.begun.elapsed() >= LENGTH;
        self.pace = Pace(if over { 1 } else { (2 * self.pace.0).min(FASTEST_PACE) });
        self.until_look = self.pace.0;
        over
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The pace that the work has shown, for the next time.
    pub(crate) fn pace(&self) -> Pace {
        self.pace
    }
}
