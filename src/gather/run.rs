//! Polls all sources of one call until they end or their time is up.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use futures::stream::{SelectAll, Stream};
use tokio::runtime::Handle;
use tokio::task::coop;
use tokio::time::{Instant, Sleep, sleep_until};
use tracing::Span;

use super::source::{FailurePolicy, Source};
use super::stream::{Batch, End, SourceStream};
use super::work_time::{Pace, TimeSlice};
use super::{BoxError, GatherReport, SourceOutcome, SourceReport, StopReason, spans};
use crate::caught::{caught, discard};
use crate::model::ContextItem;

/// Most batches that one poll takes before it lets the executor run something else.
const BATCHES_PER_POLL: usize = 32;

/// Why a call cannot go on.
#[derive(Debug)]
pub(crate) enum GatherError {
    /// A required source did not deliver.
    Required { name: Arc<str>, outcome: SourceOutcome, cause: Option<BoxError> },
    /// A source has to be waited for, and nothing would end the wait.
    NoTimer,
}

/// Receiver of items as they arrive.
pub(crate) trait Sink {
    /// Takes items of a source, in its order.
    fn accept(&mut self, source: usize, items: Vec<ContextItem>);

    /// Returns true if nothing that the open sources can still yield matters.
    fn is_settled(&mut self, is_open: &dyn Fn(usize) -> bool) -> bool;
}

/// All sources of one call.
pub(crate) struct Gather {
    streams: SelectAll<SourceStream>,
    sources: Vec<OpenSource>,
    open: usize,
    /// `true` if nothing was ready any more when the last poll ended.
    waiting: bool,
    deadline: Duration,
    started: Option<StartedSource>,
    /// Wakes the call when the next deadline passes. Made when there is something to wait for.
    timer: Option<Pin<Box<Sleep>>>,
    report: GatherReport,
    span: Span,
}

/// Start and deadline of gathering.
#[derive(Clone, Copy)]
struct StartedSource {
    at: Instant,
    /// None when the deadline is beyond the clock's range.
    deadline: Option<Instant>,
}

/// State of one source besides its stream and its report.
struct OpenSource {
    failure: FailurePolicy,
    limit: Option<Duration>,
    /// Items of a source that may yet be discarded wait here for its end.
    held: Vec<ContextItem>,
    ended: bool,
    span: Span,
}

impl OpenSource {
    fn deadline(&self, started: StartedSource) -> Option<Instant> {
        let own = self.limit.and_then(|limit| started.at.checked_add(limit));
        own.into_iter().chain(started.deadline).min()
    }
}

impl Gather {
    /// Opens the sources for a request; nothing is polled yet.
    pub(crate) fn open<Req>(sources: &[Source<Req>], request: &Req, deadline: Duration) -> Self {
        let mut gather = Self {
            streams: SelectAll::new(),
            sources: Vec::with_capacity(sources.len()),
            open: sources.len(),
            waiting: false,
            deadline,
            started: None,
            timer: None,
            report: GatherReport::default(),
            span: Span::none(),
        };
        for (number, source) in sources.iter().enumerate() {
            gather.streams.push(SourceStream::open(number, source, request));
            gather.report.sources.push(SourceReport::new(Arc::clone(&source.name)));
            gather.sources.push(OpenSource {
                failure: source.failure,
                limit: source.deadline,
                held: Vec::new(),
                ended: false,
                span: Span::none(),
            });
        }
        gather
    }

    /// Begins the spans, inside the current one. They are about gathering, and so not opened with
    /// the sources: until the first poll, the adapter takes the request apart.
    fn begin_spans(&mut self) {
        self.span = spans::gather(self.sources.len());
        for (source, report) in self.sources.iter_mut().zip(&self.report.sources) {
            source.span = spans::source(&self.span, &report.name);
        }
        for stream in self.streams.iter_mut() {
            if let Some(source) = self.sources.get(stream.source) {
                stream.span = source.span.clone();
            }
        }
    }

    /// Fills `sink` until all sources have ended, the deadline has passed, or nothing that can
    /// still come matters.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut impl Sink,
    ) -> Poll<Result<(), GatherError>> {
        if self.started.is_none() {
            self.begin_spans();
            self.report.started_at = Some(SystemTime::now());
        }
        let span = self.span.clone();
        let _entered = span.enter();
        let started = *self.started.get_or_insert_with(|| {
            let at = Instant::now();
            // The clock of every source starts here, whenever its turn comes.
            StartedSource { at, deadline: at.checked_add(self.deadline) }
        });
        let result = match self.advance(cx, started, sink) {
            Ok(None) => return Poll::Pending,
            Ok(Some(reason)) => {
                self.report.stopped = reason;
                Ok(())
            }
            Err(error) => {
                self.report.stopped = StopReason::Failed;
                Err(error)
            }
        };
        self.abandon(started.at.elapsed());
        Poll::Ready(result)
    }

    /// Returns true if everything that was ready has been read, and something is still to come.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// Ends sources that are still open, and reports on all.
    pub(crate) fn take_report(&mut self) -> GatherReport {
        if let Some(StartedSource { at, .. }) = self.started.filter(|_| self.open > 0) {
            self.report.stopped = StopReason::Failed;
            self.abandon(at.elapsed());
        }
        std::mem::take(&mut self.report)
    }

    /// Why gathering is over; none while it is not, and the task will be woken.
    fn advance(
        &mut self,
        cx: &mut Context<'_>,
        started: StartedSource,
        sink: &mut impl Sink,
    ) -> Result<Option<StopReason>, GatherError> {
        let mut slice = TimeSlice::begin(Pace::default());
        self.waiting = false;
        for _ in 0..BATCHES_PER_POLL {
            if self.open == 0 {
                return Ok(Some(StopReason::AllEnded));
            }
            if self.is_settled(sink) {
                return self.settle(started, sink);
            }
            // Without anything left of what tokio gives a task, the timers and channels of the next
            // source would not answer, although they are ready.
            if !coop::has_budget_remaining() {
                break;
            }
            match Pin::new(&mut self.streams).poll_next(cx) {
                Poll::Ready(Some(batch)) => self.take(batch, started, sink)?,
                Poll::Ready(None) => return Ok(Some(StopReason::AllEnded)),
                Poll::Pending => {
                    self.waiting = true;
                    break;
                }
            }
            if slice.is_over() {
                break;
            }
        }
        self.end_late(cx, started, sink)?;
        if self.open == 0 {
            let is_late = started.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            return Ok(Some(if is_late { StopReason::Deadline } else { StopReason::AllEnded }));
        }
        if !self.waiting || self.is_time_up(cx, started)? {
            cx.waker().wake_by_ref();
        }
        Ok(None)
    }

    fn is_settled(&self, sink: &mut impl Sink) -> bool {
        sink.is_settled(&|source| self.sources.get(source).is_some_and(|source| !source.ended))
    }

    /// Ends the sources whose time is up, each after one last look at what it has ready: it may
    /// have been ready for long, while another held the thread.
    fn end_late(
        &mut self,
        cx: &mut Context<'_>,
        started: StartedSource,
        sink: &mut impl Sink,
    ) -> Result<(), GatherError> {
        let now = Instant::now();
        let is_late = |source: &OpenSource| {
            !source.ended && source.deadline(started).is_some_and(|deadline| now >= deadline)
        };
        if !self.sources.iter().any(is_late) {
            return Ok(());
        }
        let mut last = Vec::new();
        for stream in self.streams.iter_mut() {
            if stream.is_open() && self.sources.get(stream.source).is_some_and(is_late) {
                last.push(stream.last_look(cx));
            }
        }
        // In the order of the sources: the first one that fails the call gives it its error.
        last.sort_by_key(|batch| batch.source);
        let mut failed = Ok(());
        for batch in last {
            let taken = self.take(batch, started, sink);
            match failed {
                Ok(()) => failed = taken,
                Err(_) => discard(taken),
            }
        }
        failed
    }

    /// Has the task woken when the next deadline passes; says whether it already has.
    fn is_time_up(
        &mut self,
        cx: &mut Context<'_>,
        started: StartedSource,
    ) -> Result<bool, GatherError> {
        let open = self.sources.iter().filter(|source| !source.ended);
        let Some(next) = open.filter_map(|source| source.deadline(started)).min() else {
            return Ok(false);
        };
        let timer = match &mut self.timer {
            Some(timer) => timer,
            none => none.insert(new_timer(next).ok_or(GatherError::NoTimer)?),
        };
        if timer.deadline() != next {
            timer.as_mut().reset(next);
        }
        Ok(timer.as_mut().poll(cx).is_ready())
    }

    /// Ends every source that has not ended itself, because nothing more is needed.
    fn settle(
        &mut self,
        started: StartedSource,
        sink: &mut impl Sink,
    ) -> Result<Option<StopReason>, GatherError> {
        self.streams.clear();
        for source in 0..self.sources.len() {
            if self.sources.get(source).is_some_and(|source| !source.ended) {
                let end = Some(End::from(SourceOutcome::NotNeeded));
                self.take(Batch { source, items: Vec::new(), end }, started, sink)?;
            }
        }
        Ok(Some(StopReason::Settled))
    }

    /// Ends every source that has not ended itself, because the call is over for it.
    fn abandon(&mut self, elapsed: Duration) {
        self.streams.clear();
        self.report.elapsed = elapsed;
        for (source, report) in self.sources.iter_mut().zip(&mut self.report.sources) {
            if !source.ended {
                // None of its items becomes a candidate.
                report.items = 0;
                report.tokens = 0;
                source.close(report, SourceOutcome::Abandoned, elapsed);
            }
        }
        self.open = 0;
    }

    fn take(
        &mut self,
        batch: Batch,
        started: StartedSource,
        sink: &mut impl Sink,
    ) -> Result<(), GatherError> {
        let Batch { source: number, items, end } = batch;
        let (Some(source), Some(report)) =
            (self.sources.get_mut(number), self.report.sources.get_mut(number))
        else {
            return Ok(());
        };
        let arrived = match (&end, source.failure) {
            (None, FailurePolicy::DiscardOnError) => {
                source.held.extend(items);
                return Ok(());
            }
            (Some(end), FailurePolicy::DiscardOnError) if end.outcome.is_error() => Vec::new(),
            (Some(_), FailurePolicy::DiscardOnError) => {
                source.held.extend(items);
                std::mem::take(&mut source.held)
            }
            _ => items,
        };
        if !arrived.is_empty() {
            report.count(&arrived);
            sink.accept(number, arrived);
        }
        let Some(End { outcome, cause }) = end else {
            return Ok(());
        };
        self.open -= 1;
        let failed = outcome.is_failure() && source.failure == FailurePolicy::Required;
        source.close(report, outcome, started.at.elapsed());
        if failed {
            let SourceReport { name, outcome, .. } = report.clone();
            return Err(GatherError::Required { name, outcome, cause });
        }
        discard(cause);
        Ok(())
    }
}

impl OpenSource {
    fn close(&mut self, report: &mut SourceReport, outcome: SourceOutcome, elapsed: Duration) {
        self.ended = true;
        self.held = Vec::new();
        report.elapsed = elapsed;
        report.outcome = outcome;
        // Letting go of the span closes it: it lasts as long as its source, not as the slowest one.
        let span = std::mem::replace(&mut self.span, Span::none());
        spans::record_source(&span, report);
    }
}

/// A timer; none where there is no runtime, or one whose timers are switched off.
pub(crate) fn new_timer(at: Instant) -> Option<Pin<Box<Sleep>>> {
    // Tokio does not say beforehand whether it has timers: it panics when it has none.
    Handle::try_current().ok().and_then(|_| caught(|| Box::pin(sleep_until(at))).ok())
}
