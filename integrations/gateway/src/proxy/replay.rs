//! A body that can be sent again while little of it was taken.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};

use crate::answer::{Body, BoxError};

/// Bytes that are kept of a body. A connection is found to be closed when the first of it is written.
const KEPT: usize = 64 * 1024;

/// A body that is sent, and sent again from its beginning by whoever has a clone.
#[derive(Clone)]
pub(super) struct Replay {
    source: Arc<Mutex<Source>>,
    hint: SizeHint,
    /// Pieces of the source that this one has given.
    given: usize,
}

struct Source {
    inner: Body,
    /// The pieces that were taken, or none where they are too many to be kept.
    taken: Option<Vec<Bytes>>,
    bytes: usize,
}

impl Replay {
    pub(super) fn new(inner: Body) -> Self {
        let hint = inner.size_hint();
        let source = Source { inner, taken: Some(Vec::new()), bytes: 0 };
        Self { source: Arc::new(Mutex::new(source)), hint, given: 0 }
    }

    /// Returns whether all that was taken is there.
    pub(super) fn is_whole(&self) -> bool {
        self.source.lock().unwrap_or_else(PoisonError::into_inner).taken.is_some()
    }
}

impl http_body::Body for Replay {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let mut source = this.source.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(piece) = source.taken.as_ref().and_then(|taken| taken.get(this.given)) {
            this.given += 1;
            return Poll::Ready(Some(Ok(Frame::data(piece.clone()))));
        }
        let next = ready!(Pin::new(&mut source.inner).poll_frame(cx));
        if let Some(Ok(frame)) = &next {
            let length = frame.data_ref().map_or(usize::MAX, Bytes::len);
            source.bytes = source.bytes.saturating_add(length);
            let is_little = source.bytes <= KEPT;
            source.taken = source.taken.take().filter(|_| is_little);
            if let (Some(taken), Some(data)) = (&mut source.taken, frame.data_ref()) {
                taken.push(data.clone());
            }
            this.given += 1;
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let has_more = source.taken.as_ref().is_some_and(|taken| taken.len() > self.given);
        !has_more && source.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.given == 0 { self.hint } else { SizeHint::default() }
    }
}
