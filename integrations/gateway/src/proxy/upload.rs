//! A client's body on its way to an upstream: untouched, and not waited for without end.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use crate::answer::BoxError;

/// Passes a body on.
#[derive(Debug)]
pub(crate) struct Upload {
    inner: Incoming,
    stall: Duration,
    /// Runs while the client is waited for, and not while the upstream is.
    silence: Option<Pin<Box<Sleep>>>,
}

impl Upload {
    pub(crate) fn new(inner: Incoming, stall: Duration) -> Self {
        Self { inner, stall, silence: None }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let upload = self.get_mut();
        if let Poll::Ready(next) = Pin::new(&mut upload.inner).poll_frame(cx) {
            upload.silence = None;
            return Poll::Ready(next.map(|frame| frame.map_err(Into::into)));
        }
        let stall = upload.stall;
        let silence = upload.silence.get_or_insert_with(|| Box::pin(sleep(stall)));
        ready!(silence.as_mut().poll(cx));
        Poll::Ready(Some(Err("the client fell silent".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
