//! Work that would hold the executor, on Tokio's blocking pool.

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::Span;

use super::ContextError;
use crate::caught::{caught, message_of};

/// Runs `work` here, or on the blocking pool if it takes at least `threshold` steps of about a
/// nanosecond. Without a runtime there is no executor to hold up, and it runs here.
///
/// # Errors
///
/// [`NotRun`] if it panicked, or if the runtime is shutting down.
pub(super) async fn run<T: Send + 'static>(
    steps: u64,
    threshold: u64,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NotRun> {
    let pool = if steps >= threshold { Handle::try_current().ok() } else { None };
    let Some(pool) = pool else { return caught(work).map_err(NotRun::Panicked) };
    let span = Span::current();
    let mut task = AbortOnDrop(pool.spawn_blocking(move || span.in_scope(work)));
    match (&mut task.0).await {
        Ok(done) => Ok(done),
        Err(error) => Err(match error.try_into_panic() {
            Ok(payload) => NotRun::Panicked(message_of(payload)),
            Err(_) => NotRun::Cancelled,
        }),
    }
}

/// Reason for work that came to no end.
#[derive(Debug)]
pub(super) enum NotRun {
    /// It panicked, with this message.
    Panicked(String),
    /// The runtime is shutting down.
    Cancelled,
}

impl From<NotRun> for ContextError {
    fn from(not_run: NotRun) -> Self {
        let message = match not_run {
            NotRun::Panicked(message) => message,
            NotRun::Cancelled => "the runtime is shutting down".to_owned(),
        };
        Self::Panicked { message }
    }
}

/// Withdraws work that has not begun when its call is dropped.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
