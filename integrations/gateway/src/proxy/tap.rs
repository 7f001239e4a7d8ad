//! A body on its way through: untouched, watched, and not waited for without end.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::usage::{Usage, Watch};
use crate::answer::BoxError;
use crate::stall::Stall;

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) how: How,
    pub(crate) bytes: u64,
    pub(crate) usage: Option<Usage>,
    /// All of it, where somebody wants to read it and it is not too long.
    #[cfg_attr(not(feature = "archive"), allow(dead_code))]
    pub(crate) answer: Option<Vec<u8>>,
}

/// The longest answer that is kept to be read.
const KEPT: usize = 4 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// All of it has passed.
    Whole,
    /// The client left.
    ClientLeft,
    /// The upstream broke off.
    Broken,
    /// The upstream fell silent.
    Silent,
}

impl How {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::ClientLeft => "client_left",
            Self::Broken => "broken",
            Self::Silent => "silent",
        }
    }
}

type Tell = Box<dyn FnOnce(Ended) + Send>;

/// Passes a body on, and tells somebody when it is over.
pub(crate) struct Tap {
    inner: Incoming,
    /// Runs while the sender is waited for, and not while the receiver is.
    stall: Stall,
    sender: &'static str,
    /// None for what cannot be read, being compressed.
    watch: Option<Watch>,
    /// What has passed, where somebody wants to read it.
    kept: Option<Vec<u8>>,
    bytes: u64,
    tell: Option<Tell>,
}

impl Tap {
    /// An upstream's answer.
    pub(crate) fn answer(inner: Incoming, stall: Duration, read: bool, tell: Tell) -> Self {
        let mut tap = Self::upload(inner, stall);
        tap.sender = "upstream";
        tap.watch = read.then(Watch::default);
        tap.tell = Some(tell);
        if tap.inner.is_end_stream() {
            tap.end(How::Whole);
        }
        tap
    }

    /// A client's body, which nobody watches.
    pub(crate) fn upload(inner: Incoming, stall: Duration) -> Self {
        let stall = Stall::new(stall);
        Self { inner, stall, sender: "client", watch: None, kept: None, bytes: 0, tell: None }
    }

    /// Keeps what passes for whoever is told of the end, as far as it can be read.
    pub(crate) fn keep(mut self) -> Self {
        self.kept = self.watch.is_some().then(Vec::new);
        self
    }

    fn end(&mut self, how: How) {
        if let Some(tell) = self.tell.take() {
            let usage = self.watch.as_ref().and_then(Watch::usage);
            tell(Ended { how, bytes: self.bytes, usage, answer: self.kept.take() });
        }
    }

    fn see(&mut self, frame: &Frame<Bytes>) {
        if let Some(data) = frame.data_ref() {
            self.bytes = self.bytes.saturating_add(u64::try_from(data.len()).unwrap_or(u64::MAX));
            if let Some(watch) = &mut self.watch {
                watch.see(data);
            }
            self.kept.take_if(|kept| kept.len().saturating_add(data.len()) > KEPT);
            if let Some(kept) = &mut self.kept {
                kept.extend_from_slice(data);
            }
        }
    }
}

impl Body for Tap {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let tap = self.get_mut();
        let Poll::Ready(next) = Pin::new(&mut tap.inner).poll_frame(cx) else {
            ready!(tap.stall.poll::<()>(cx)).ok();
            tap.end(How::Silent);
            return Poll::Ready(Some(Err(format!("the {} fell silent", tap.sender).into())));
        };
        tap.stall.stop();
        match &next {
            Some(Ok(frame)) => {
                tap.see(frame);
                if tap.inner.is_end_stream() {
                    tap.end(How::Whole);
                }
            }
            Some(Err(_)) => tap.end(How::Broken),
            None => tap.end(How::Whole),
        }
        Poll::Ready(next.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.end(How::ClientLeft);
    }
}
