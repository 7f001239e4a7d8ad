//! Moves long work off the executor.

use cupel::layer;

use crate::error::{ArchiveError, Failure, Result};

/// Runs work here, or off the executor if it takes long: about `steps` nanoseconds.
pub(crate) async fn off_executor<T: Send + 'static>(
    operation: &'static str,
    steps: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = layer::off_executor(steps as u64, work).await;
    done.unwrap_or_else(|error| {
        let problem = error.to_string();
        Err(ArchiveError::Database { operation, kind: Failure::Other, problem })
    })
}
