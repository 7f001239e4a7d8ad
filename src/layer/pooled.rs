//! Work on Tokio's blocking pool.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};

/// Work on the blocking pool. What has not begun is withdrawn with its call.
pub(super) struct Pooled<T>(JoinHandle<T>);

impl<T: Send + 'static> Pooled<T> {
    pub(super) fn start(pool: &Handle, work: impl FnOnce() -> T + Send + 'static) -> Self {
        Self(pool.spawn_blocking(work))
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for Pooled<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
