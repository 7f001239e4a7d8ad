//! Sources that never end, with and without giving others a turn.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use cupel::ContextItem;
use cupel::gather::{Source, SourceOutcome};
use futures::stream::{self, StreamExt};
use tokio::time::{Instant, advance, sleep, sleep_until};

use crate::common::{Request, context_error, item, layer_with, ms, report, request};

/// Far more than any test needs: where nobody cuts it off, the source panics instead.
const TOO_MANY: usize = 3_000_000;

/// Yields an item whenever it is asked, and counts how often it was.
fn yielding(count: &Arc<AtomicUsize>) -> Source<Request> {
    let count = Arc::clone(count);
    Source::stream("endless", move |_: &Request| {
        let count = Arc::clone(&count);
        let same = item("again", 1);
        stream::repeat_with(move || {
            assert!(count.fetch_add(1, Ordering::SeqCst) < TOO_MANY, "nobody stopped it");
            Ok::<_, Infallible>(same.clone())
        })
    })
    .limit(usize::MAX)
}

/// Never yields, but always wants to be polled again.
fn spinning(count: &Arc<AtomicUsize>) -> Source<Request> {
    let count = Arc::clone(count);
    Source::stream("endless", move |_: &Request| {
        let count = Arc::clone(&count);
        stream::poll_fn(move |cx| -> Poll<Option<Result<ContextItem, Infallible>>> {
            assert!(count.fetch_add(1, Ordering::SeqCst) < TOO_MANY, "nobody stopped it");
            cx.waker().wake_by_ref();
            Poll::Pending
        })
    })
}

/// A task that moves the clock: it stands still unless the task gets its turns.
fn clockwork(ticks: &Arc<AtomicUsize>) -> tokio::task::JoinHandle<()> {
    let ticks = Arc::clone(ticks);
    tokio::spawn(async move {
        loop {
            advance(ms(1)).await;
            ticks.fetch_add(1, Ordering::SeqCst);
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_always_ready_is_cut_off_at_its_deadline() {
    for source in [yielding, spinning] {
        let (count, ticks) = (Arc::default(), Arc::default());
        let clockwork = clockwork(&ticks);
        let layer = layer_with([source(&count).deadline(ms(20)).optional()]);
        let (_, selection) = report(layer, request()).await.unwrap();
        clockwork.abort();
        let endless = selection.gather.source("endless").unwrap();
        assert_eq!(endless.outcome, SourceOutcome::TimedOut);
        assert_eq!(endless.elapsed, ms(20));
        // The other task had its turn once for each millisecond.
        assert!(ticks.load(Ordering::SeqCst) >= 19);
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_always_ready_is_cut_off_at_the_deadline_of_all() {
    for source in [yielding, spinning] {
        let (count, ticks) = (Arc::default(), Arc::default());
        let clockwork = clockwork(&ticks);
        let optional = layer_with([source(&count).optional()]).gather_deadline(ms(20));
        let (_, selection) = report(optional, request()).await.unwrap();
        let endless = selection.gather.source("endless").unwrap();
        assert_eq!((&endless.outcome, endless.elapsed), (&SourceOutcome::TimedOut, ms(20)));

        let required = layer_with([source(&count).required()]).gather_deadline(ms(20));
        let error = context_error(report(required, request()).await);
        assert_eq!(error.to_string(), "required source \"endless\" timed out");
        clockwork.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn other_tasks_wait_for_no_more_than_a_few_thousand_items() {
    let (count, ticks) = (Arc::<AtomicUsize>::default(), Arc::default());
    let clockwork = clockwork(&ticks);
    let layer = layer_with([yielding(&count).deadline(ms(50)).optional()]);
    let (_, selection) = report(layer, request()).await.unwrap();
    clockwork.abort();
    assert_eq!(selection.gather.source("endless").unwrap().items, count.load(Ordering::SeqCst));
    let turns = ticks.load(Ordering::SeqCst).max(1);
    assert!(count.load(Ordering::SeqCst) / turns <= 4_096, "{count:?} items in {turns} turns");
}

#[tokio::test(start_paused = true)]
async fn other_sources_get_their_turns_beside_one_that_is_always_ready() {
    let (count, ticks) = (Arc::default(), Arc::default());
    let clockwork = clockwork(&ticks);
    let patient = Source::stream("patient", |_: &Request| {
        stream::iter(0..10).then(|number| async move {
            sleep(ms(1)).await;
            ContextItem::new(format!("patient-{number}"), 1)
        })
    });
    let polite = Source::stream("polite", |_: &Request| {
        stream::iter(0..10).then(|number| async move {
            tokio::task::yield_now().await;
            ContextItem::new(format!("polite-{number}"), 1)
        })
    });
    let endless = yielding(&count).deadline(ms(60)).optional();
    let layer = layer_with([endless, patient.deadline(ms(50)), polite.deadline(ms(50))]);
    let (_, selection) = report(layer, request()).await.unwrap();
    clockwork.abort();
    for name in ["patient", "polite"] {
        let source = selection.gather.source(name).unwrap();
        assert_eq!((source.items, &source.outcome), (10, &SourceOutcome::Completed));
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_yields_and_then_hangs_is_cut_off_with_what_it_yielded() {
    let source = || {
        Source::stream("hanging", |_: &Request| {
            stream::iter([Ok::<_, Infallible>(item("one", 1))]).chain(stream::pending())
        })
        .deadline(ms(30))
    };
    let (sent, _) = report(layer_with([source().optional()]), request()).await.unwrap();
    assert_eq!(sent, ["one"]);
    let error = context_error(report(layer_with([source().required()]), request()).await);
    assert_eq!(error.to_string(), "required source \"hanging\" timed out");
}

#[tokio::test]
async fn a_source_that_is_always_ready_ends_at_the_limit_of_items_without_a_clock() {
    let count = Arc::default();
    let endless = yielding(&count).limit(Source::<Request>::DEFAULT_LIMIT);
    let (_, selection) = report(layer_with([endless]), request()).await.unwrap();
    let endless = selection.gather.source("endless").unwrap();
    assert_eq!((endless.items, &endless.outcome), (10_000, &SourceOutcome::LimitReached));
    assert_eq!(count.load(Ordering::SeqCst), 10_000);
}

/// Sources of 20,000 items each, which come through channels: each item counts against what tokio
/// gives a task, and so does a timer. With these nothing is left for anybody else.
async fn full_channels(count: usize) -> Vec<Source<Request>> {
    let mut sources = Vec::new();
    for name in FULL.into_iter().take(count) {
        let (sender, receiver) = tokio::sync::mpsc::channel(20_000);
        for _ in 0..20_000 {
            sender.send(item("again", 1)).await.unwrap();
        }
        let receiver = std::sync::Mutex::new(Some(receiver));
        let source = Source::stream(name, move |_: &Request| {
            let mut receiver = receiver.lock().unwrap().take().unwrap();
            stream::poll_fn(move |cx| {
                receiver.poll_recv(cx).map(|item| item.map(Ok::<_, Infallible>))
            })
        });
        sources.push(source.limit(usize::MAX).optional());
    }
    sources
}

const FULL: [&str; 5] = ["one", "two", "three", "four", "five"];

#[tokio::test(start_paused = true)]
async fn sources_that_use_up_the_tasks_budget_do_not_put_off_a_deadline() {
    let full = full_channels(3).await;
    let ticks = Arc::default();
    let clockwork = clockwork(&ticks);
    let hanging = Source::stream("hanging", |_: &Request| {
        stream::pending::<Result<ContextItem, Infallible>>()
    });
    let layer = layer_with(full.into_iter().chain([hanging.deadline(ms(20)).optional()]));
    let (_, selection) = report(layer.gather_deadline(ms(40)), request()).await.unwrap();
    clockwork.abort();
    // A turn is a millisecond here, and the source may have to wait for one with something left.
    let elapsed = |name: &str| selection.gather.source(name).unwrap().elapsed;
    assert!((20..=24).contains(&elapsed("hanging").as_millis()), "{:?}", elapsed("hanging"));
    for name in FULL.into_iter().take(3) {
        assert_eq!(elapsed(name), ms(40));
        assert!(selection.gather.source(name).unwrap().items < 20_000);
    }
}

#[tokio::test(start_paused = true)]
async fn sources_that_use_up_the_tasks_budget_do_not_starve_the_others() {
    for count in 1..=FULL.len() {
        let full = full_channels(count).await;
        let ticks = Arc::default();
        let clockwork = clockwork(&ticks);
        let ready_at = Instant::now() + ms(20);
        let ready_at_20 = Source::list("ready", move |_: &Request| async move {
            sleep_until(ready_at).await;
            Ok::<_, Infallible>([item("result", 1)])
        });
        let layer = layer_with(full.into_iter().chain([ready_at_20.deadline(ms(100))]));
        let (_, selection) = report(layer.gather_deadline(ms(60)), request()).await.unwrap();
        clockwork.abort();
        let ready = selection.gather.source("ready").unwrap();
        assert_eq!((ready.items, &ready.outcome), (1, &SourceOutcome::Completed));
        // Two of the others at most have their turns in a millisecond.
        let elapsed = ready.elapsed.as_millis();
        assert!((20..=24).contains(&elapsed), "{elapsed} ms beside {count}");
    }
}

#[tokio::test(start_paused = true)]
async fn sources_that_use_up_the_tasks_budget_make_nobody_late_who_is_ready() {
    for deadline in 20..=24 {
        let full = full_channels(3).await;
        let ticks = Arc::default();
        let clockwork = clockwork(&ticks);
        let ready_at = Instant::now() + ms(20);
        let ready_at_20 = Source::list("ready", move |_: &Request| async move {
            sleep_until(ready_at).await;
            Ok::<_, Infallible>([item("result", 1)])
        });
        let layer = layer_with(full.into_iter().chain([ready_at_20.deadline(ms(deadline))]));
        let (_, selection) = report(layer.gather_deadline(ms(40)), request()).await.unwrap();
        clockwork.abort();
        let ready = selection.gather.source("ready").unwrap();
        assert_eq!((ready.items, &ready.outcome), (1, &SourceOutcome::Completed));
    }
}
