//! Says whether PostgreSQL's extension `pgvector` is in use.

use std::sync::atomic::{AtomicBool, Ordering};

/// Parts of the extension that are there and in use.
#[derive(Debug, Default)]
pub(crate) struct PgVector {
    /// The column is there.
    column: AtomicBool,
}

impl PgVector {
    pub(super) fn is_used(&self) -> bool {
        self.column.load(Ordering::Relaxed)
    }

    pub(super) fn set_used(&self, is_used: bool) {
        self.column.store(is_used, Ordering::Relaxed);
    }
}
