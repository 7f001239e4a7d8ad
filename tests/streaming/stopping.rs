//! Reasons why a streaming call ends: all ended, the deadline, or a settled selection.

use std::time::Duration;

use cupel::gather::{SourceOutcome, StopReason};
use cupel::layer::ContextRequest;
use tokio::time::Instant;

use crate::support::{hanging, item, layer, ms, send, timetable};

/// Three fast sources, best first, and a slow one that can only bring less.
fn with_a_slow_source(streaming: bool) -> crate::support::Builder {
    let fast = |name: &str, hint: f64| {
        let items = (0..4).map(|i| (5, item(&format!("{name} {i}"), 25, hint))).collect();
        timetable(name, items)
    };
    let slow = (0..4).map(|i| (200, item(&format!("slow {i}"), 50, 0.1))).collect();
    layer(250)
        .select_while_gathering(streaming)
        .source(fast("a", 1.0))
        .source(fast("b", 0.9))
        .source(fast("c", 0.8))
        .source(timetable("slow", slow).max_score(0.3).min_tokens(40))
}

#[tokio::test(start_paused = true)]
async fn a_call_leaves_as_soon_as_nothing_could_change_and_sends_the_same() {
    let start = Instant::now();
    let (batch, report) = send(with_a_slow_source(false), ContextRequest::new(())).await.unwrap();
    assert_eq!(start.elapsed(), ms(800));
    assert_eq!(report.gather.stopped, StopReason::AllEnded);

    let start = Instant::now();
    let (stream, report) = send(with_a_slow_source(true), ContextRequest::new(())).await.unwrap();
    // Ten items of 25 tokens fill the budget by the fourth round of the fast sources.
    assert_eq!(start.elapsed(), ms(20));
    assert_eq!(batch, stream);
    assert_eq!(report.gather.stopped, StopReason::Settled);
    let slow = report.gather.source("slow").unwrap();
    assert_eq!((slow.items, &slow.outcome), (0, &SourceOutcome::NotNeeded));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_promises_nothing_is_waited_for() {
    let start = Instant::now();
    let builder = layer(50)
        .select_while_gathering(true)
        .source(timetable("full", vec![(0, item("fills it", 50, 1.0))]))
        .source(timetable("late", vec![(300, item("late", 50, 0.1))]));
    let (_, report) = send(builder, ContextRequest::new(())).await.unwrap();
    assert_eq!(start.elapsed(), ms(300));
    assert_eq!(report.gather.stopped, StopReason::AllEnded);
}

#[tokio::test(start_paused = true)]
async fn without_a_smallest_size_an_item_that_costs_nothing_could_still_come() {
    let builder = layer(50)
        .select_while_gathering(true)
        .source(timetable("full", vec![(0, item("fills it", 50, 1.0))]))
        .source(timetable("late", vec![(300, item("free", 0, 0.1))]).max_score(0.2));
    let (sent, report) = send(builder, ContextRequest::new(())).await.unwrap();
    assert_eq!(report.gather.stopped, StopReason::AllEnded);
    assert!(sent.contains(&"free".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_falling_density_lets_a_source_be_cut_short() {
    let best_first =
        (0..100).map(|i| (10, item(&format!("hit {i}"), 20, 1.0 - f64::from(i) / 100.0)));
    let start = Instant::now();
    let builder = layer(100)
        .select_while_gathering(true)
        .source(timetable("rag", best_first.collect()).min_tokens(20).descending_density());
    let (sent, report) = send(builder, ContextRequest::new(())).await.unwrap();
    assert_eq!(sent.len(), 5);
    assert_eq!(report.gather.stopped, StopReason::Settled);
    // The fifth fills the budget, but a larger one of the same density could still come before
    // it; the sixth shows that none does.
    assert_eq!(start.elapsed(), ms(60));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_breaks_its_promise_is_not_believed_any_more() {
    let items = vec![(0, item("above", 10, 0.9)), (100, item("more", 40, 1.0))];
    let builder = layer(50)
        .select_while_gathering(true)
        .source(timetable("liar", items).max_score(0.2).min_tokens(10))
        .source(timetable("full", vec![(1, item("fills it", 40, 0.5))]));
    let (sent, report) = send(builder, ContextRequest::new(())).await.unwrap();
    // Believed, it would have been cut off when the budget was full.
    assert_eq!(sent, ["more", "above"]);
    assert!(report.gather.source("liar").unwrap().broke_promise);
    assert!(!report.gather.source("full").unwrap().broke_promise);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_what_hangs_and_keeps_what_came() {
    let start = Instant::now();
    let builder = layer(100)
        .select_while_gathering(true)
        .gather_deadline(ms(400))
        .source(hanging("hangs", vec![item("in time", 10, 0.5)]).optional());
    let (sent, report) = send(builder, ContextRequest::new(())).await.unwrap();
    assert_eq!(sent, ["in time"]);
    assert_eq!(start.elapsed(), ms(400));
    assert_eq!(report.gather.stopped, StopReason::Deadline);
    assert_eq!(report.gather.sources[0].outcome, SourceOutcome::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn a_required_source_that_hangs_fails_the_call_by_name() {
    let builder = layer(100)
        .select_while_gathering(true)
        .gather_deadline(ms(50))
        .source(hanging("db", vec![]).required());
    let error = send(builder, ContextRequest::new(())).await.unwrap_err();
    assert_eq!(error.to_string(), "required source \"db\" timed out");
}

#[tokio::test(start_paused = true)]
async fn sources_that_are_not_needed_are_dropped_at_once() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Alive(Arc<AtomicUsize>);
    impl Drop for Alive {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let alive = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&alive);
    let source = cupel::gather::Source::stream("slow", move |_: &crate::support::Request| {
        counted.fetch_add(1, Ordering::SeqCst);
        let guard = Alive(Arc::clone(&counted));
        futures::stream::once(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(guard);
            Ok::<_, cupel::gather::BoxError>(item("late", 90, 0.1))
        })
    });
    let seen = Arc::clone(&alive);
    let builder = layer(100)
        .select_while_gathering(true)
        .on_selection(move |_: &cupel::layer::Selection| {
            // The request has not left yet, and nobody is left behind.
            assert_eq!(seen.load(Ordering::SeqCst), 0);
        })
        .source(source.max_score(0.1).min_tokens(80));
    let request = ContextRequest::new(()).item(item("fills most of it", 60, 1.0));
    let start = Instant::now();
    let (sent, _) = send(builder, request).await.unwrap();
    assert_eq!((sent.len(), start.elapsed()), (1, Duration::ZERO));
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}
