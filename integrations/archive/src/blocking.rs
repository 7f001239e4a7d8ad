//! Moves long work off the executor.

use crate::error::{ArchiveError, Result};

/// Runs work inline, or on the blocking pool if it has many bytes to go through.
pub(crate) async fn off_executor<T: Send + 'static>(
    operation: &'static str,
    bytes: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    if bytes < 1 << 18 {
        return work();
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ArchiveError::corrupt(operation, error)))
}
