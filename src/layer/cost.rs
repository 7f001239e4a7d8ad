//! How long selections take, as far as the calls before have shown.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a candidate costs, by the calls before.
///
/// The pipeline can say what its own parts cost. A scorer of somebody else's may take a hundred
/// times as long, and need not know.
#[derive(Debug, Default)]
pub(super) struct Cost {
    /// What a candidate of the last two calls took, in nanoseconds; 0 is not known.
    recent: [AtomicU64; 2],
}

impl Cost {
    /// Of fewer candidates nothing is learned from a short call: most of it is not theirs.
    const FEWEST: usize = 64;
    const SHORT: Duration = Duration::from_millis(1);

    /// Takes note of how long it took to select from so many candidates.
    pub(super) fn note(&self, candidates: usize, elapsed: Duration) {
        if candidates == 0 || (candidates < Self::FEWEST && elapsed < Self::SHORT) {
            return;
        }
        let each = elapsed.as_nanos() / candidates as u128;
        let each = u64::try_from(each).unwrap_or(u64::MAX).max(1);
        // Two calls that do this at once may lose a number, and no harm is done.
        let [last, before] = &self.recent;
        before.store(last.swap(each, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// How many nanoseconds selecting from so many candidates will take; 0 when it is not known.
    ///
    /// The lesser of what two calls have shown: one may have been interrupted by something else.
    pub(super) fn of(&self, candidates: usize) -> u64 {
        let known = self.recent.iter().map(|each| each.load(Ordering::Relaxed));
        let least = known.filter(|each| *each > 0).min().unwrap_or(0);
        least.saturating_mul(candidates as u64)
    }
}
