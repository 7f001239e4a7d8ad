//! A body whose beginning was read before it passes on.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

/// Body of an upstream or a client. What was read ahead of it passes on first.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    read: VecDeque<Result<Frame<Bytes>, hyper::Error>>,
    rest: Incoming,
}

impl From<Incoming> for ReadAhead {
    fn from(rest: Incoming) -> Self {
        Self { read: VecDeque::new(), rest }
    }
}

impl ReadAhead {
    /// Reads a body of at most `most` bytes to its end; `None` if it is longer, slower or broken. Either way
    /// nothing of it is lost.
    pub(crate) async fn whole(&mut self, most: usize, time: Duration) -> Option<Bytes> {
        let until = Instant::now() + time;
        let mut all = BytesMut::new();
        while !self.rest.is_end_stream() {
            let Some(frame) = timeout_at(until, self.rest.frame()).await.ok()? else { break };
            let data = frame.as_ref().ok().and_then(Frame::data_ref).cloned();
            let is_broken = frame.is_err();
            self.read.push_back(frame);
            all.extend_from_slice(&data.unwrap_or_default());
            if is_broken || all.len() > most {
                return None;
            }
        }
        Some(all.freeze())
    }

    fn bytes_read(&self) -> u64 {
        let data = self.read.iter().flatten().filter_map(Frame::data_ref);
        data.map(|data| u64::try_from(data.len()).unwrap_or(u64::MAX)).sum()
    }
}

impl Body for ReadAhead {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let body = self.get_mut();
        match body.read.pop_front() {
            Some(frame) => Poll::Ready(Some(frame)),
            None => Pin::new(&mut body.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (read, rest) = (self.bytes_read(), self.rest.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(read));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(read));
        }
        hint
    }
}
