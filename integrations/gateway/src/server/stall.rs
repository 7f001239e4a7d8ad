//! A clock for one direction of a connection: it runs while nothing moves.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Fails what has not moved for too long.
#[derive(Debug)]
pub(super) struct Stall {
    limit: Duration,
    running: Option<Pin<Box<Sleep>>>,
}

impl Stall {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, running: None }
    }

    /// Something moved, or nothing is waited for.
    pub(super) fn stop(&mut self) {
        self.running = None;
    }

    /// Nothing moves: an error once that has lasted too long.
    pub(super) fn poll<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let limit = self.limit;
        let started = || Instant::now().checked_add(limit).map(|end| Box::pin(sleep_until(end)));
        if self.running.is_none() {
            self.running = started();
        }
        match &mut self.running {
            Some(sleep) => ready!(sleep.as_mut().poll(cx)),
            None => return Poll::Pending,
        }
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}
