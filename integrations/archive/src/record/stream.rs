//! Archives an answer that is streamed, when it has come to its end.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::stream::Stream;
use pin_project::pin_project;

use super::transcript::OpenTurn;
use crate::message::ArchiveMessage;

/// Listens to a streamed answer.
pub trait Listener<T>: Send {
    /// A part of the answer passes by.
    fn heard(&mut self, part: &T);

    /// The bytes that it holds of the answer, which count to [what waits](super::Recorder::waiting_bytes).
    /// A listener that says nothing is not counted before the end of its stream.
    fn held_bytes(&self) -> usize {
        0
    }

    /// The stream has ended: the answer, or none if it is not whole.
    fn answer(self) -> Option<Vec<ArchiveMessage>>;
}

/// A stream that passes on what it is given, and archives the answer at its end. One that fails,
/// ends before its answer does, or is dropped, is not archived.
#[pin_project]
pub struct RecordedStream<S, L> {
    #[pin]
    stream: S,
    open: Option<(OpenTurn, L)>,
}

impl<S, L> RecordedStream<S, L> {
    /// Listens to a stream on behalf of a turn.
    pub fn new(stream: S, turn: OpenTurn, listener: L) -> Self {
        Self { stream, open: Some((turn, listener)) }
    }
}

impl<S, L, T, E> Stream for RecordedStream<S, L>
where
    S: Stream<Item = Result<T, E>>,
    L: Listener<T>,
{
    type Item = Result<T, E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        let part = ready!(this.stream.poll_next(cx));
        match (&part, &mut *this.open) {
            (Some(Ok(part)), Some((turn, listener))) => {
                listener.heard(part);
                if !turn.hold(listener.held_bytes()) {
                    *this.open = None;
                }
            }
            (Some(Err(_)), _) => *this.open = None,
            (None, _) => {
                if let Some((turn, listener)) = this.open.take()
                    && let Some(answer) = listener.answer()
                {
                    turn.answered(answer);
                }
            }
            (Some(Ok(_)), None) => {}
        }
        Poll::Ready(part)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.size_hint()
    }
}

impl<S, L> fmt::Debug for RecordedStream<S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedStream").field("open", &self.open.is_some()).finish_non_exhaustive()
    }
}
