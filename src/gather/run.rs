//! Polls all sources of one call until they end or the deadline passes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::{SelectAll, Stream};
use tokio::time::{Instant, Sleep, sleep_until};
use tracing::Span;

use super::source::{FailurePolicy, Source};
use super::stream::{Batch, End, SourceStream};
use super::{BoxError, GatherReport, SourceOutcome, SourceReport};
use crate::diagnostics::spans;
use crate::model::ContextItem;

/// How many batches one poll takes before it lets the executor run something else.
const BATCHES_PER_POLL: usize = 32;

/// A required source that did not deliver.
#[derive(Debug)]
pub(crate) struct RequiredSourceFailed {
    pub(crate) name: Arc<str>,
    pub(crate) outcome: SourceOutcome,
    pub(crate) cause: Option<BoxError>,
}

/// The items of every source, and how it went.
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    /// One list a source, in the order the sources were added.
    pub(crate) items: Vec<Vec<ContextItem>>,
    pub(crate) report: GatherReport,
}

/// All sources of one call.
pub(crate) struct Gather {
    streams: SelectAll<SourceStream>,
    slots: Vec<Slot>,
    deadline: Duration,
    started: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    span: Span,
}

/// What one source has given so far.
struct Slot {
    report: SourceReport,
    failure: FailurePolicy,
    items: Vec<ContextItem>,
    ended: bool,
    span: Span,
}

impl Gather {
    /// Opens the sources for a request; nothing is polled yet.
    pub(crate) fn open<Req>(sources: &[Source<Req>], request: &Req, deadline: Duration) -> Self {
        let span = spans::gather(sources.len());
        let mut slots = Vec::with_capacity(sources.len());
        let mut streams = SelectAll::new();
        for (number, source) in sources.iter().enumerate() {
            let source_span = spans::source(&span, &source.name);
            streams.push(SourceStream::open(number, source, request, source_span.clone()));
            slots.push(Slot {
                report: SourceReport {
                    name: Arc::clone(&source.name),
                    items: 0,
                    tokens: 0,
                    elapsed: Duration::ZERO,
                    outcome: SourceOutcome::Abandoned,
                    pins_lifted: 0,
                },
                failure: source.failure,
                items: Vec::new(),
                ended: false,
                span: source_span,
            });
        }
        Self { streams, slots, deadline, started: None, timer: None, span }
    }

    /// The items of all sources once they have ended or the deadline has passed.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Arrived, (RequiredSourceFailed, GatherReport)>> {
        let span = self.span.clone();
        let _entered = span.enter();
        let started = *self.started.get_or_insert_with(Instant::now);
        for _ in 0..BATCHES_PER_POLL {
            // The deadline comes first: sources that are always ready must not outrun it.
            if self.is_late(cx, started) {
                return Poll::Ready(self.finish(started));
            }
            match Pin::new(&mut self.streams).poll_next(cx) {
                Poll::Ready(Some(batch)) => {
                    if let Err(failed) = self.take(batch, started) {
                        return Poll::Ready(Err((failed, self.abandon(started))));
                    }
                }
                Poll::Ready(None) => return Poll::Ready(self.finish(started)),
                Poll::Pending => return Poll::Pending,
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn is_late(&mut self, cx: &mut Context<'_>, started: Instant) -> bool {
        let Some(at) = started.checked_add(self.deadline) else {
            return false; // beyond the clock's range
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
        timer.as_mut().poll(cx).is_ready() || Instant::now() >= at
    }

    fn take(&mut self, batch: Batch, started: Instant) -> Result<(), RequiredSourceFailed> {
        let Some(slot) = self.slots.get_mut(batch.source) else {
            return Ok(());
        };
        if slot.items.is_empty() {
            slot.items = batch.items;
        } else {
            slot.items.extend(batch.items);
        }
        match batch.end {
            Some(end) => slot.end(end, started.elapsed()),
            None => Ok(()),
        }
    }

    /// Ends every source that has not ended itself: all of them are late, not only the one that
    /// fails the call.
    fn finish(
        &mut self,
        started: Instant,
    ) -> Result<Arrived, (RequiredSourceFailed, GatherReport)> {
        self.streams.clear();
        let mut failed = None;
        for slot in self.slots.iter_mut().filter(|slot| !slot.ended) {
            let late = slot.end(SourceOutcome::TimedOut.into(), started.elapsed());
            failed = failed.or(late.err());
        }
        let report = self.report(started);
        if let Some(failed) = failed {
            return Err((failed, report));
        }
        let items = self.slots.iter_mut().map(|slot| std::mem::take(&mut slot.items)).collect();
        Ok(Arrived { items, report })
    }

    /// Ends every source that has not ended itself, because another one fails the call.
    fn abandon(&mut self, started: Instant) -> GatherReport {
        self.streams.clear();
        for slot in self.slots.iter_mut().filter(|slot| !slot.ended) {
            slot.items.clear(); // none of them becomes a candidate
            let _ = slot.end(SourceOutcome::Abandoned.into(), started.elapsed());
        }
        self.report(started)
    }

    /// How it has gone so far.
    fn report(&self, started: Instant) -> GatherReport {
        let sources = self.slots.iter().map(|slot| slot.report.clone()).collect();
        GatherReport { elapsed: started.elapsed(), sources }
    }
}

impl Slot {
    fn end(&mut self, end: End, elapsed: Duration) -> Result<(), RequiredSourceFailed> {
        let End { outcome, cause } = end;
        let failed = outcome.is_failure();
        if failed
            && self.failure == FailurePolicy::DiscardOnError
            && outcome != SourceOutcome::TimedOut
        {
            self.items.clear();
        }
        self.ended = true;
        self.report.items = self.items.len();
        self.report.tokens =
            self.items.iter().fold(0, |sum: i64, item| sum.saturating_add(item.tokens()));
        self.report.elapsed = elapsed;
        self.report.outcome = outcome;
        // Letting go of the span closes it: it lasts as long as its source, not as the slowest one.
        let span = std::mem::replace(&mut self.span, Span::none());
        spans::record_source(&span, &self.report);
        if failed && self.failure == FailurePolicy::Required {
            let SourceReport { name, outcome, .. } = self.report.clone();
            return Err(RequiredSourceFailed { name, outcome, cause });
        }
        Ok(())
    }
}
