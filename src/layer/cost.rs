//! How long selections take, as far as the calls before have shown.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a candidate costs, by the calls before.
///
/// The pipeline can say what its own parts cost. A scorer of somebody else's may take a hundred
/// times as long, and need not know.
#[derive(Debug, Default)]
pub(super) struct Cost {
    /// In nanoseconds; 0 until something is known.
    per_candidate: AtomicU64,
}

impl Cost {
    /// What a call takes whatever the number of its candidates must not count for each of them.
    const FEWEST: u64 = 64;

    /// Takes note of how long it took to select from so many candidates.
    pub(super) fn note(&self, candidates: usize, elapsed: Duration) {
        let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let each = nanos / (candidates as u64).max(Self::FEWEST);
        // Two calls that do this at once lose one of the two numbers, and no harm is done.
        let before = self.per_candidate.load(Ordering::Relaxed);
        let now = if before == 0 { each } else { before / 2 + each / 2 };
        self.per_candidate.store(now, Ordering::Relaxed);
    }

    /// How many nanoseconds selecting from so many candidates will take; 0 when it is not known.
    pub(super) fn of(&self, candidates: usize) -> u64 {
        self.per_candidate.load(Ordering::Relaxed).saturating_mul(candidates as u64)
    }
}
