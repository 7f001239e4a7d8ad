//! Reads one source, in batches that end after some items or about a millisecond.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::stream::Stream;
use tokio::task::coop;
use tracing::Span;

use super::source::{CandidateSource, Defaults, Source};
use super::work_time::{Pace, TimeSlice};
use super::{BoxError, CandidateStream, SourceOutcome};
use crate::caught::{caught, discard};
use crate::model::ContextItem;

/// Most items that a source hands over before the others get their turn.
const BATCH: usize = 64;

/// Items that one look at a source gave.
pub(super) struct Batch {
    /// The source's number.
    pub(super) source: usize,
    pub(super) items: Vec<ContextItem>,
    /// Set when nothing more will come.
    pub(super) end: Option<End>,
}

/// Outcome of a source, and the error behind it.
pub(super) struct End {
    pub(super) outcome: SourceOutcome,
    pub(super) cause: Option<BoxError>,
}

impl From<SourceOutcome> for End {
    fn from(outcome: SourceOutcome) -> Self {
        Self { outcome, cause: None }
    }
}

impl End {
    fn failed(cause: BoxError) -> Self {
        let outcome = SourceOutcome::of_error(&cause);
        if matches!(outcome, SourceOutcome::Failed { .. }) {
            return Self { outcome, cause: Some(cause) };
        }
        discard(cause);
        outcome.into()
    }
}

/// One source of one call.
pub(super) struct SourceStream {
    pub(super) source: usize,
    /// None once the source has ended; or the end itself, when it could not even be opened.
    stream: Result<CandidateStream, Option<End>>,
    left: usize,
    pace: Pace,
    defaults: Arc<Defaults>,
    /// Set before the first poll.
    pub(super) span: Span,
}

impl SourceStream {
    /// Opens a source. A panic on the way is kept for the first poll.
    pub(super) fn open<Req>(number: usize, source: &Source<Req>, request: &Req) -> Self {
        let opened = caught(|| CandidateSource::candidates(&*source.origin, request));
        Self {
            source: number,
            stream: opened.map_err(|message| Some(SourceOutcome::Panicked { message }.into())),
            left: source.limit,
            pace: Pace::default(),
            defaults: Arc::clone(&source.defaults),
            span: Span::none(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !matches!(self.stream, Err(None))
    }

    /// Reads what is ready once more, and ends the source, however much it may still have.
    pub(super) fn last_look(&mut self, cx: &mut Context<'_>) -> Batch {
        // Others may have used up what tokio gives a task; then nothing would seem to be ready.
        let look = coop::unconstrained(poll_fn(|cx| self.look(cx)));
        let mut batch = match pin!(look).poll(cx) {
            Poll::Ready(batch) => batch,
            Poll::Pending => Batch { source: self.source, items: Vec::new(), end: None },
        };
        if batch.end.is_none() {
            batch.end = Some(SourceOutcome::TimedOut.into());
            self.close();
        }
        batch
    }

    fn look(&mut self, cx: &mut Context<'_>) -> Poll<Batch> {
        let span = self.span.clone();
        let _entered = span.enter();
        self.read(cx).map(|(items, end)| {
            if end.is_some() {
                self.close();
            }
            Batch { source: self.source, items, end }
        })
    }

    /// Reads what is ready, up to a batch. The end is set when nothing more will come.
    fn read(&mut self, cx: &mut Context<'_>) -> Poll<(Vec<ContextItem>, Option<End>)> {
        let stream = match &mut self.stream {
            Ok(stream) => stream,
            Err(end) => return Poll::Ready((Vec::new(), end.take())),
        };
        let mut slice = TimeSlice::begin(self.pace);
        let mut items = Vec::new();
        while items.len() < BATCH {
            let end = match caught(|| stream.as_mut().poll_next(cx)) {
                Ok(Poll::Pending) if items.is_empty() => return Poll::Pending,
                Ok(Poll::Pending) => break,
                Ok(Poll::Ready(Some(Ok(item)))) if self.left > 0 => {
                    let is_plain = self.defaults.is_empty();
                    match if is_plain { Ok(item) } else { self.defaults.apply(&item) } {
                        Ok(item) => items.push(item),
                        Err(error) => return Poll::Ready((items, Some(End::failed(error.into())))),
                    }
                    self.left -= 1;
                    if self.left > 0 {
                        if slice.is_over() {
                            break;
                        }
                        continue;
                    }
                    SourceOutcome::LimitReached.into()
                }
                Ok(Poll::Ready(Some(Ok(_)))) => SourceOutcome::LimitReached.into(),
                Ok(Poll::Ready(Some(Err(error)))) => End::failed(error),
                Ok(Poll::Ready(None)) => SourceOutcome::Completed.into(),
                Err(message) => SourceOutcome::Panicked { message }.into(),
            };
            return Poll::Ready((items, Some(end)));
        }
        self.pace = slice.pace();
        Poll::Ready((items, None))
    }

    /// Drops the source's stream; a panic there is as harmless as one while polling.
    fn close(&mut self) {
        discard(std::mem::replace(&mut self.stream, Err(None)));
        self.span = Span::none();
    }
}

impl Stream for SourceStream {
    type Item = Batch;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Batch>> {
        let this = self.get_mut();
        if this.is_open() { this.look(cx).map(Some) } else { Poll::Ready(None) }
    }
}

impl Drop for SourceStream {
    fn drop(&mut self) {
        self.close();
    }
}
