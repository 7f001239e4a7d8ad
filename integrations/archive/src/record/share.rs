//! The bytes that a recorder holds, and their bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counters of a recorder: written, dropped and waiting turns.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) written: AtomicU64,
    pub(super) dropped: AtomicU64,
    /// Turns in the queues, and those that are being written.
    pub(super) waiting_turns: AtomicU64,
    pub(super) waiting_bytes: AtomicUsize,
    pub(super) max_bytes: usize,
}

impl Counts {
    pub(super) fn new(max_bytes: usize) -> Self {
        let (written, dropped, waiting_turns, waiting_bytes) = Default::default();
        Self { written, dropped, waiting_turns, waiting_bytes, max_bytes }
    }

    pub(super) fn drop_one(&self, why: &str) {
        let dropped = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
        tracing::warn!(target: "cupel", why, dropped, "a turn was not archived");
    }
}

/// One turn's share of the bytes that a recorder holds; it gives them back when it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    pub(super) counts: Arc<Counts>,
    bytes: usize,
    is_queued: bool,
}

impl Share {
    pub(super) fn new(counts: Arc<Counts>) -> Self {
        Self { counts, bytes: 0, is_queued: false }
    }

    /// Counts the turn as one that waits.
    pub(super) fn queue(&mut self) {
        self.counts.waiting_turns.fetch_add(1, Ordering::Relaxed);
        self.is_queued = true;
    }

    /// Takes or gives back what is missing or left over. Where there is no room for it, the turn counts
    /// as dropped, the share is as it was, and this is `false`.
    pub(super) fn resize(&mut self, bytes: usize) -> bool {
        let Counts { waiting_bytes, max_bytes, .. } = &*self.counts;
        let resized = waiting_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |waiting| {
            let all = waiting.saturating_sub(self.bytes).saturating_add(bytes);
            (bytes <= self.bytes || all <= *max_bytes).then_some(all)
        });
        if let Err(waiting) = resized {
            let problem = format!(
                "it takes {bytes} bytes, and {waiting} of at most {max_bytes} bytes wait already"
            );
            self.counts.drop_one(&problem);
            return false;
        }
        self.bytes = bytes;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.resize(0);
        if self.is_queued {
            self.counts.waiting_turns.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
