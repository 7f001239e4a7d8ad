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
use super::{BoxError, GatherReport, SourceOutcome, SourceReport, StopReason, spans};
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

/// Where items go when they arrive.
pub(crate) trait Sink {
    /// Takes items of a source, in its order, and notes on its report what became of them.
    fn accept(&mut self, source: usize, items: Vec<ContextItem>, report: &mut SourceReport);

    /// Whether nothing that the open sources can still yield matters.
    fn is_settled(&self, is_open: &dyn Fn(usize) -> bool) -> bool {
        let _ = is_open;
        false
    }
}

/// Keeps everything: one list a source, in the order the sources were added.
#[derive(Debug, Default)]
pub(crate) struct Arrived(pub(crate) Vec<Vec<ContextItem>>);

impl Arrived {
    pub(crate) fn new(sources: usize) -> Self {
        Self(vec![Vec::new(); sources])
    }
}

impl Sink for Arrived {
    fn accept(&mut self, source: usize, items: Vec<ContextItem>, _report: &mut SourceReport) {
        match self.0.get_mut(source) {
            Some(slot) if slot.is_empty() => *slot = items,
            Some(slot) => slot.extend(items),
            None => {}
        }
    }
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
    /// Items of a source that may yet be discarded wait here for its end.
    held: Vec<ContextItem>,
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
                    broke_promise: false,
                    pins_lifted: 0,
                },
                failure: source.failure,
                held: Vec::new(),
                ended: false,
                span: source_span,
            });
        }
        Self { streams, slots, deadline, started: None, timer: None, span }
    }

    /// Fills `sink` until all sources have ended, the deadline has passed, or nothing that can
    /// still come matters.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut impl Sink,
    ) -> Poll<Result<GatherReport, (RequiredSourceFailed, GatherReport)>> {
        let span = self.span.clone();
        let _entered = span.enter();
        let started = *self.started.get_or_insert_with(Instant::now);
        for _ in 0..BATCHES_PER_POLL {
            if self.is_settled(sink) {
                return Poll::Ready(self.finish(StopReason::Settled, started, sink));
            }
            // The deadline comes first: sources that are always ready must not outrun it.
            if self.is_late(cx, started) {
                return Poll::Ready(self.finish(StopReason::Deadline, started, sink));
            }
            match Pin::new(&mut self.streams).poll_next(cx) {
                Poll::Ready(Some(batch)) => {
                    let slot = self.slots.get_mut(batch.source);
                    let taken = slot.map(|slot| slot.take(batch, started.elapsed(), sink));
                    if let Some(Err(failed)) = taken {
                        return Poll::Ready(Err((failed, self.abandon(started))));
                    }
                }
                Poll::Ready(None) => {
                    return Poll::Ready(self.finish(StopReason::AllEnded, started, sink));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn is_settled(&self, sink: &impl Sink) -> bool {
        let any_open = self.slots.iter().any(|slot| !slot.ended);
        let is_open = |source: usize| self.slots.get(source).is_some_and(|slot| !slot.ended);
        any_open && sink.is_settled(&is_open)
    }

    fn is_late(&mut self, cx: &mut Context<'_>, started: Instant) -> bool {
        let Some(at) = started.checked_add(self.deadline) else {
            return false; // beyond the clock's range
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
        timer.as_mut().poll(cx).is_ready() || Instant::now() >= at
    }

    /// Ends every source that has not ended itself: all of them are late, not only the one that
    /// fails the call.
    fn finish(
        &mut self,
        reason: StopReason,
        started: Instant,
        sink: &mut impl Sink,
    ) -> Result<GatherReport, (RequiredSourceFailed, GatherReport)> {
        self.streams.clear();
        let outcome = match reason {
            StopReason::Settled => SourceOutcome::NotNeeded,
            _ => SourceOutcome::TimedOut,
        };
        let mut failed = None;
        for (source, slot) in self.slots.iter_mut().enumerate().filter(|(_, slot)| !slot.ended) {
            let end = Some(End::from(outcome.clone()));
            let late = slot.take(Batch { source, items: Vec::new(), end }, started.elapsed(), sink);
            failed = failed.or(late.err());
        }
        match failed {
            Some(failed) => Err((failed, self.report(StopReason::Failed, started))),
            None => Ok(self.report(reason, started)),
        }
    }

    /// Ends every source that has not ended itself, because another one fails the call.
    fn abandon(&mut self, started: Instant) -> GatherReport {
        self.streams.clear();
        for slot in self.slots.iter_mut().filter(|slot| !slot.ended) {
            // None of its items becomes a candidate.
            slot.report.items = 0;
            slot.report.tokens = 0;
            slot.close(SourceOutcome::Abandoned, started.elapsed());
        }
        self.report(StopReason::Failed, started)
    }

    /// How it has gone so far.
    fn report(&self, stopped: StopReason, started: Instant) -> GatherReport {
        let sources = self.slots.iter().map(|slot| slot.report.clone()).collect();
        GatherReport { elapsed: started.elapsed(), stopped, sources }
    }
}

impl Slot {
    fn take(
        &mut self,
        batch: Batch,
        elapsed: Duration,
        sink: &mut impl Sink,
    ) -> Result<(), RequiredSourceFailed> {
        let Batch { source, items, end } = batch;
        if self.failure == FailurePolicy::DiscardOnError {
            self.held.extend(items);
        } else {
            self.pass_on(source, items, sink);
        }
        let Some(End { outcome, cause }) = end else {
            return Ok(());
        };
        let held = std::mem::take(&mut self.held);
        if matches!(outcome, SourceOutcome::Failed { .. } | SourceOutcome::Panicked { .. }) {
            drop(held);
        } else {
            self.pass_on(source, held, sink);
        }
        let failed = outcome.is_failure() && self.failure == FailurePolicy::Required;
        self.close(outcome, elapsed);
        if failed {
            let SourceReport { name, outcome, .. } = self.report.clone();
            return Err(RequiredSourceFailed { name, outcome, cause });
        }
        Ok(())
    }

    fn close(&mut self, outcome: SourceOutcome, elapsed: Duration) {
        self.ended = true;
        self.report.elapsed = elapsed;
        self.report.outcome = outcome;
        // Letting go of the span closes it: it lasts as long as its source, not as the slowest one.
        let span = std::mem::replace(&mut self.span, Span::none());
        spans::record_source(&span, &self.report);
    }

    fn pass_on(&mut self, source: usize, items: Vec<ContextItem>, sink: &mut impl Sink) {
        if items.is_empty() {
            return;
        }
        self.report.items += items.len();
        let tokens = items.iter().fold(0_i64, |sum, item| sum.saturating_add(item.tokens()));
        self.report.tokens = self.report.tokens.saturating_add(tokens);
        sink.accept(source, items, &mut self.report);
    }
}
