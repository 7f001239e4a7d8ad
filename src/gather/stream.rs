//! Polls one source: its deadline first, then its items in batches.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::Stream;
use tokio::time::{Instant, Sleep, sleep_until};
use tracing::Span;

use super::source::{CandidateSource, Defaults, Source};
use super::{BoxError, CandidateStream, SourceOutcome};
use crate::model::ContextItem;

/// How many items a source may hand over before the others get their turn.
const BATCH: usize = 64;

/// What one poll of a source gave.
pub(super) struct Batch {
    /// The source's number.
    pub(super) source: usize,
    pub(super) items: Vec<ContextItem>,
    /// Set when nothing more will come.
    pub(super) end: Option<End>,
}

/// How a source ended, and the error behind it.
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
        // The text is the source's own code as much as its stream is.
        match catch_unwind(AssertUnwindSafe(|| cause.to_string())) {
            Ok(error) => Self { outcome: SourceOutcome::Failed { error }, cause: Some(cause) },
            Err(payload) => Self::panicked(&*payload),
        }
    }

    fn panicked(payload: &(dyn Any + Send)) -> Self {
        SourceOutcome::Panicked { message: panic_message(payload) }.into()
    }
}

/// The message of a panic, if it had one.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}

/// One source of one call.
pub(super) struct SourceStream {
    source: usize,
    /// None once the source has ended; or the end itself, when it could not even be opened.
    stream: Result<CandidateStream, Option<End>>,
    deadline: Option<Deadline>,
    left: usize,
    defaults: Arc<Defaults>,
    span: Span,
}

enum Deadline {
    /// The clock starts with the first poll.
    After(Duration),
    /// A timer is made only when the source is not ready at once.
    At(Instant),
    Timer(Pin<Box<Sleep>>),
}

impl SourceStream {
    /// Opens a source. A panic on the way is kept for the first poll.
    pub(super) fn open<Req>(
        number: usize,
        source: &Source<Req>,
        request: &Req,
        span: Span,
    ) -> Self {
        let opened = span.in_scope(|| {
            let origin = &source.origin;
            catch_unwind(AssertUnwindSafe(|| CandidateSource::candidates(&**origin, request)))
        });
        Self {
            source: number,
            stream: opened.map_err(|payload| Some(End::panicked(&*payload))),
            deadline: source.deadline.map(Deadline::After),
            left: source.limit,
            defaults: Arc::clone(&source.defaults),
            span,
        }
    }

    /// Whether the deadline has passed; with `wake`, the task is woken when it does.
    fn is_late(&mut self, cx: &mut Context<'_>, wake: bool) -> bool {
        if let Some(Deadline::After(duration)) = self.deadline {
            // A deadline beyond the clock's range never comes.
            self.deadline = Instant::now().checked_add(duration).map(Deadline::At);
        }
        match &mut self.deadline {
            Some(Deadline::Timer(timer)) => timer.as_mut().poll(cx).is_ready(),
            Some(Deadline::At(at)) if wake => {
                let mut timer = Box::pin(sleep_until(*at));
                let late = timer.as_mut().poll(cx).is_ready();
                self.deadline = Some(Deadline::Timer(timer));
                late
            }
            Some(Deadline::At(at)) => Instant::now() >= *at,
            Some(Deadline::After(_)) | None => false,
        }
    }

    /// Reads what is ready, up to a batch. The end is set when nothing more will come.
    fn read(&mut self, cx: &mut Context<'_>) -> Poll<(Vec<ContextItem>, Option<End>)> {
        let stream = match &mut self.stream {
            Ok(stream) => stream,
            Err(end) => return Poll::Ready((Vec::new(), end.take())),
        };
        let mut items = Vec::new();
        while items.len() < BATCH {
            let end = match catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll_next(cx))) {
                Ok(Poll::Pending) if items.is_empty() => return Poll::Pending,
                Ok(Poll::Pending) => break,
                Ok(Poll::Ready(Some(Ok(item)))) if self.left > 0 => {
                    let item = if self.defaults.is_empty() {
                        Ok(item)
                    } else {
                        self.defaults.apply(&item)
                    };
                    match item {
                        Ok(item) => items.push(item),
                        Err(error) => return Poll::Ready((items, Some(End::failed(error.into())))),
                    }
                    self.left -= 1;
                    if self.left > 0 {
                        continue;
                    }
                    SourceOutcome::LimitReached.into()
                }
                Ok(Poll::Ready(Some(Ok(_)))) => SourceOutcome::LimitReached.into(),
                Ok(Poll::Ready(Some(Err(error)))) => End::failed(error),
                Ok(Poll::Ready(None)) => SourceOutcome::Completed.into(),
                Err(payload) => End::panicked(&*payload),
            };
            return Poll::Ready((items, Some(end)));
        }
        Poll::Ready((items, None))
    }
}

impl Stream for SourceStream {
    type Item = Batch;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Batch>> {
        let this = self.get_mut();
        if matches!(this.stream, Err(None)) {
            return Poll::Ready(None);
        }
        let span = this.span.clone();
        let _entered = span.enter();
        // The deadline comes first: a source that is always ready must not outrun it.
        let late = this.is_late(cx, false);
        let (items, end) = match if late { Poll::Pending } else { this.read(cx) } {
            Poll::Ready(read) => read,
            Poll::Pending if late || this.is_late(cx, true) => {
                (Vec::new(), Some(SourceOutcome::TimedOut.into()))
            }
            Poll::Pending => return Poll::Pending,
        };
        if end.is_some() {
            close(std::mem::replace(&mut this.stream, Err(None)));
            this.span = Span::none();
        }
        Poll::Ready(Some(Batch { source: this.source, items, end }))
    }
}

/// Drops a source's stream; a panic there is as harmless as one while polling.
fn close(stream: Result<CandidateStream, Option<End>>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(stream)));
}

impl Drop for SourceStream {
    fn drop(&mut self) {
        close(std::mem::replace(&mut self.stream, Err(None)));
    }
}
