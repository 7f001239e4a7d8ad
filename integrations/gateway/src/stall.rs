//! A clock for one direction of a connection: it runs while nothing moves.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// Fails what has not moved for too long.
#[derive(Debug)]
pub(crate) struct Stall {
    limit: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    is_running: bool,
}

impl Stall {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, sleep: None, is_running: false }
    }

    /// Something moved, or nothing is waited for.
    pub(crate) fn stop(&mut self) {
        self.is_running = false;
    }

    /// Nothing moves: an error once that has lasted too long.
    pub(crate) fn poll<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let limit = self.limit;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep(limit)));
        if !std::mem::replace(&mut self.is_running, true) {
            // A time that no clock reaches is as good as one far away, which `sleep` takes for it.
            match Instant::now().checked_add(limit) {
                Some(end) => sleep.as_mut().reset(end),
                None => sleep.set(tokio::time::sleep(limit)),
            }
        }
        ready!(sleep.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}
