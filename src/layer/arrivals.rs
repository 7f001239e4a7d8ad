//! What has arrived for a call: kept in lists, or selected from while more arrives.

use std::sync::Arc;
use std::task::{Context, Poll};

use super::beside::{Asked, Beside};
use super::call::Call;
use super::streaming::{Streaming, StreamingMode};
use super::{ContextAdapter, ContextError};
use crate::gather::{Gather, Sink, Source};
use crate::model::ContextItem;
use crate::relevance::{Judged, RelevanceReport};

/// The candidates so far.
pub(super) struct Arrivals {
    pub(super) own: Vec<ContextItem>,
    /// One list a source, in the order the sources were added.
    pub(super) lists: Vec<Vec<ContextItem>>,
    /// Set once a layer that selects while gathering has to wait for a source; then the lists are
    /// empty.
    pub(super) streaming: Option<Box<Streaming>>,
    /// What the judge said; none without a question.
    pub(super) judged: Option<Box<Judged>>,
}

impl Arrivals {
    pub(super) fn new(mut own: Vec<ContextItem>, sources: usize) -> Self {
        // A handle from an earlier call's source may be what this request is made of.
        own.iter_mut().for_each(|item| item.set_gathered(false));
        Self { own, lists: vec![Vec::new(); sources], streaming: None, judged: None }
    }

    /// Whether candidates were judged by a question.
    pub(super) fn is_asked(&self) -> bool {
        self.judged.as_ref().is_some_and(|judged| judged.report.asked)
    }

    /// What became of the question.
    pub(super) fn relevance(&self) -> Option<&RelevanceReport> {
        self.judged.as_ref().map(|judged| &judged.report)
    }

    pub(super) fn len(&self) -> usize {
        let listed = self.own.len() + self.lists.iter().map(Vec::len).sum::<usize>();
        listed + self.streaming.as_ref().map_or(0, |streaming| streaming.len())
    }

    /// Takes items of a list, in their order: 0 is the request, the sources follow.
    fn take(&mut self, list: usize, items: Vec<ContextItem>) {
        if let Some(streaming) = &mut self.streaming {
            return streaming.take_all(list, items);
        }
        let known = match list.checked_sub(1) {
            None => Some(&mut self.own),
            Some(source) => self.lists.get_mut(source),
        };
        match known {
            Some(known) if known.is_empty() => *known = items,
            Some(known) => known.extend(items),
            None => {}
        }
    }

    /// Goes on with the judge that is waited for, and takes what it has let go. Ready when nothing
    /// waits for it.
    pub(super) fn poll_beside(
        &mut self,
        beside: Option<&mut Beside>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let Some(beside) = beside else { return Poll::Ready(()) };
        let mut free: Vec<(usize, Vec<ContextItem>)> = Vec::new();
        let polled = beside.poll(cx, &mut |list, item| match free.last_mut() {
            Some((last, items)) if *last == list => items.push(item),
            _ => free.push((list, vec![item])),
        });
        if self.streaming.is_some() && !free.is_empty() {
            cx.waker().wake_by_ref(); // to score them, and to see whether more is needed
        }
        for (list, items) in free {
            self.take(list, items);
        }
        polled
    }

    /// Takes what the sources have. Ready when they have ended, been cut off, or are not needed
    /// any more.
    pub(super) fn poll<Req, A: ContextAdapter<Req>>(
        &mut self,
        gather: &mut Gather,
        beside: Option<&mut Beside>,
        call: &Call<Req, A>,
        rest: &A::Rest,
        cx: &mut Context<'_>,
    ) -> Result<Poll<()>, ContextError> {
        let count = |source: usize, item: &mut ContextItem| {
            let adapter = &call.shared.adapter;
            let tokens = match &call.planned {
                None => adapter.source_item_tokens(rest, item),
                Some(planned) => {
                    planned.accept(item);
                    let name = call.shared.sources.get(source).map_or("", Source::name);
                    adapter.quoted_tokens(rest, name, item)
                }
            };
            item.set_tokens(tokens);
        };
        let mut intake = Intake { count, arrivals: self, beside };
        if let Some(mode) = call.shared.streaming.as_ref().filter(|mode| mode.is_watched()) {
            intake.arrivals.stream(mode, call);
        }
        loop {
            if let Poll::Ready(gathered) = gather.poll(cx, &mut intake) {
                return gathered.map(Poll::Ready).map_err(ContextError::from);
            }
            let arrivals = &mut *intake.arrivals;
            if let Some(streaming) = &mut arrivals.streaming {
                // Reading comes first: what takes long to score must not make a source late.
                if streaming.score_some() {
                    cx.waker().wake_by_ref();
                }
                return Ok(Poll::Pending);
            }
            // What is all there soon is better selected from at once.
            let soon = !gather.is_waiting() && arrivals.len() <= MOST_LISTED;
            match call.shared.streaming.as_ref().filter(|_| !soon) {
                Some(mode) => arrivals.stream(mode, call),
                None => return Ok(Poll::Pending),
            }
        }
    }

    /// Selects from what there is from now on, and from what comes when it comes.
    fn stream<Req, A: ContextAdapter<Req>>(&mut self, mode: &StreamingMode, call: &Call<Req, A>) {
        if self.streaming.is_none() {
            let mut streaming = Streaming::new(
                call.pipeline_for(self),
                mode,
                Arc::clone(&call.shared.facts),
                call.budget().clone(),
                Arc::clone(&call.shared.cost),
                call.wants_report,
                call.shared.adapter.recounts_source_items(),
            );
            streaming.take_all(0, std::mem::take(&mut self.own));
            for (list, items) in (1..).zip(&mut self.lists) {
                streaming.take_all(list, std::mem::take(items));
            }
            self.streaming = Some(Box::new(streaming));
        }
    }
}

/// How many candidates that are ready at once are kept in lists and selected from together.
const MOST_LISTED: usize = 16_384;

/// Gives arriving items the tokens they take in the request.
struct Intake<'a, F> {
    count: F,
    arrivals: &'a mut Arrivals,
    /// Who may want to see them first.
    beside: Option<&'a mut Beside>,
}

impl<F: Fn(usize, &mut ContextItem)> Sink for Intake<'_, F> {
    fn accept(&mut self, source: usize, mut items: Vec<ContextItem>) {
        let list = source + 1;
        items.retain_mut(|item| {
            let came_with = item.future_relevance_hint();
            (self.count)(source, item);
            item.set_gathered(true);
            if let Some(judged) = &mut self.arrivals.judged {
                judged.further(item);
            }
            let Some(beside) = &mut self.beside else { return true };
            let wanted = beside.wants(item, came_with);
            let held = wanted || beside.is_holding();
            if held {
                let (text, tokens) = (item.shared_content(), item.tokens());
                let asked = wanted.then_some(Asked { text, tokens, place: None });
                beside.hold(list, item.clone(), came_with, asked);
            }
            !held
        });
        self.arrivals.take(list, items);
    }

    fn is_settled(&mut self, is_open: &dyn Fn(usize) -> bool) -> bool {
        if self.beside.as_ref().is_some_and(|beside| beside.is_holding()) {
            return false; // nobody knows what they will score
        }
        self.arrivals.streaming.as_ref().is_some_and(|streaming| streaming.is_settled(is_open))
    }
}
