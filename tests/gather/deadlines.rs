//! Deadlines of one source and of all of them, by a clock that stands still.

use std::convert::Infallible;
use std::time::Duration;

use cupel::ContextItem;
use cupel::gather::{Source, SourceOutcome};
use cupel::layer::{ContextError, ContextRequestAdapter, CupelLayer};
use futures::stream::{self, StreamExt};
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceExt};

use crate::common::{
    Echo, Recorder, Request, call, context_error, item, layer_with, ms, report, request,
};

/// A source that yields an item every `pause`, `count` of them.
fn every(name: &'static str, pause: Duration, count: usize) -> Source<Request> {
    Source::stream(name, move |_: &Request| {
        stream::iter(0..count).then(move |number| async move {
            sleep(pause).await;
            ContextItem::new(format!("{name}-{number}"), 1)
        })
    })
}

/// A source that never yields anything.
fn hanging(name: &str) -> Source<Request> {
    Source::stream(name, |_: &Request| stream::pending::<Result<_, Infallible>>())
}

#[tokio::test(start_paused = true)]
async fn what_arrived_before_a_sources_deadline_is_used() {
    let slow = every("slow", ms(10), 10).deadline(ms(35)).optional();
    let start = Instant::now();
    let (sent, selection) = report(layer_with([slow]), request()).await.unwrap();
    assert_eq!(sent, ["slow-0", "slow-1", "slow-2"]);
    assert_eq!(start.elapsed(), ms(35));
    let source = selection.gather.source("slow").unwrap();
    assert_eq!((source.items, source.tokens), (3, 3));
    assert_eq!(source.outcome, SourceOutcome::TimedOut);
    assert_eq!((source.elapsed, selection.gather.elapsed), (ms(35), ms(35)));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_ends_early_does_not_wait_for_its_deadline() {
    let quick = every("quick", ms(10), 2).deadline(ms(500));
    let start = Instant::now();
    let (sent, selection) = report(layer_with([quick]), request()).await.unwrap();
    assert_eq!(sent.len(), 2);
    assert_eq!(start.elapsed(), ms(20));
    assert_eq!(selection.gather.source("quick").unwrap().outcome, SourceOutcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_ready_at_its_deadline_is_in_time() {
    for (pause, expected) in [(ms(50), 1), (ms(51), 0)] {
        let source = every("source", pause, 1).deadline(ms(50)).optional();
        let (sent, _) = report(layer_with([source]), request()).await.unwrap();
        assert_eq!(sent.len(), expected, "{pause:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_source_has_its_own_deadline_and_all_have_one_together() {
    let sources = [
        every("short", ms(10), 100).deadline(ms(25)).optional(),
        every("long", ms(10), 100).deadline(ms(45)).optional(),
        every("unbounded", ms(10), 100).optional(),
        every("patient", ms(10), 100).deadline(ms(999)).optional(),
        every("quick", ms(1), 1),
    ];
    let layer = layer_with(sources).gather_deadline(ms(65));
    let start = Instant::now();
    let (_, selection) = report(layer, request()).await.unwrap();
    assert_eq!(start.elapsed(), ms(65));
    let outcomes: Vec<_> = selection
        .gather
        .sources
        .iter()
        .map(|source| (&*source.name, source.items, source.elapsed, source.outcome.name()))
        .collect();
    assert_eq!(
        outcomes,
        [
            ("short", 2, ms(25), "timed_out"),
            ("long", 4, ms(45), "timed_out"),
            ("unbounded", 6, ms(65), "timed_out"),
            ("patient", 6, ms(65), "timed_out"),
            ("quick", 1, ms(1), "completed"),
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_setting_the_deadline_of_all_sources_is_two_seconds() {
    let start = Instant::now();
    report(layer_with([hanging("hanging").optional()]), request()).await.unwrap();
    assert_eq!(start.elapsed(), ms(2_000));
    assert_eq!(CupelLayer::<Request, ContextRequestAdapter>::DEFAULT_GATHER_DEADLINE, ms(2_000),);
}

#[tokio::test(start_paused = true)]
async fn a_required_source_that_is_late_fails_the_call_by_name() {
    let start = Instant::now();
    let own = layer_with([every("rag", ms(10), 10).deadline(ms(15)).required()]);
    let error = context_error(report(own, request()).await);
    assert_eq!(start.elapsed(), ms(15));
    assert_eq!(error.to_string(), "required source \"rag\" timed out");
    assert!(matches!(error, ContextError::Source { outcome: SourceOutcome::TimedOut, .. }));

    let start = Instant::now();
    let overall = layer_with([hanging("rag").required()]).gather_deadline(ms(70));
    let error = context_error(report(overall, request()).await);
    assert_eq!(start.elapsed(), ms(70));
    assert_eq!(error.to_string(), "required source \"rag\" timed out");
}

#[tokio::test(start_paused = true)]
async fn when_time_is_up_every_source_that_is_not_done_has_timed_out() {
    let hook = Recorder::default();
    let sources = [every("done", ms(1), 1), hanging("rag").required(), hanging("web")];
    let layer = layer_with(sources).gather_deadline(ms(70)).hook(hook.clone()).build().unwrap();
    let error = context_error(call(&mut layer.layer(Echo::default()), request()).await);
    assert_eq!(error.to_string(), "required source \"rag\" timed out");
    let failures = hook.failures.lock().unwrap();
    let outcomes: Vec<_> = failures[0].1.sources.iter().map(|s| s.outcome.name()).collect();
    assert_eq!(outcomes, ["completed", "timed_out", "timed_out"]);
}

#[tokio::test(start_paused = true)]
async fn timed_out_and_empty_are_not_the_same() {
    let empty = Source::items("empty", Vec::new()).deadline(ms(20)).optional();
    let late = hanging("late").deadline(ms(20)).optional();
    let (sent, selection) = report(layer_with([empty, late]), request()).await.unwrap();
    assert!(sent.is_empty());
    let [empty, late] = selection.gather.sources.as_slice() else { panic!("two sources") };
    assert_eq!((empty.items, &empty.outcome), (0, &SourceOutcome::Completed));
    assert_eq!((late.items, &late.outcome), (0, &SourceOutcome::TimedOut));
}

#[tokio::test(start_paused = true)]
async fn an_empty_required_source_is_no_failure() {
    let empty = Source::items("empty", Vec::new()).required();
    assert!(report(layer_with([empty]), request()).await.unwrap().0.is_empty());
}

#[tokio::test(start_paused = true)]
async fn time_counts_from_when_the_call_is_first_polled() {
    let source = every("source", ms(30), 1).deadline(ms(50));
    let layer = layer_with([source]).gather_deadline(ms(60)).build().unwrap();
    let mut service = layer.layer(Echo::default());
    let call = service.ready().await.unwrap().call(request());
    sleep(ms(200)).await;
    assert_eq!(call.await.unwrap(), ["source-0"]);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_beyond_the_clocks_range_never_comes() {
    let source = every("source", ms(10), 1).deadline(Duration::MAX);
    let layer = layer_with([source]).gather_deadline(Duration::MAX);
    assert_eq!(report(layer, request()).await.unwrap().0, ["source-0"]);
}

#[tokio::test(start_paused = true)]
async fn sources_wait_side_by_side() {
    let sources = (0..50).map(|number| {
        Source::list(format!("source {number}"), move |_: &Request| async move {
            sleep(ms(40)).await;
            Ok::<_, Infallible>([item(&format!("item {number}"), 1)])
        })
    });
    let start = Instant::now();
    let (sent, _) = report(layer_with(sources), request()).await.unwrap();
    assert_eq!(sent.len(), 50);
    assert_eq!(start.elapsed(), ms(40));
}

#[tokio::test(start_paused = true)]
async fn the_order_of_candidates_is_that_of_the_sources_and_not_that_of_arrival() {
    let sources = [every("slow", ms(10), 2), every("quick", ms(1), 2)];
    let asked = request().item(item("own", 1));
    let (sent, _) = report(layer_with(sources), asked).await.unwrap();
    assert_eq!(sent, ["own", "slow-0", "slow-1", "quick-0", "quick-1"]);
}
