//! Work that would hold the executor, on Tokio's blocking pool.

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::Span;

use crate::caught::{caught, message_of};

/// Runs `work` here, or on the blocking pool if it takes at least `threshold` steps of about a
/// nanosecond. Without a runtime there is no executor to hold up, and it runs here.
///
/// # Errors
///
/// The message of a panic.
pub(super) async fn run<T: Send + 'static>(
    steps: u64,
    threshold: u64,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let pool = if steps >= threshold { Handle::try_current().ok() } else { None };
    let Some(pool) = pool else { return caught(work) };
    let span = Span::current();
    let mut task = AbortOnDrop(pool.spawn_blocking(move || span.in_scope(work)));
    match (&mut task.0).await {
        Ok(done) => Ok(done),
        Err(error) => Err(match error.try_into_panic() {
            Ok(payload) => message_of(payload),
            Err(cancelled) => cancelled.to_string(),
        }),
    }
}

/// Withdraws work that has not begun when its call is dropped.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
