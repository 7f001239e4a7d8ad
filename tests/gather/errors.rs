//! A source that yields an error: required, optional, or to be discarded.

use std::error::Error as _;
use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::gather::{FailurePolicy, Source, SourceOutcome};
use cupel::layer::{ContextError, Error};
use futures::stream::{self, StreamExt};
use tower::Layer;

use crate::common::{
    Echo, Recorder, Request, call, context_error, item, layer_with, numbered, report, request,
};

/// An error with a cause of its own.
#[derive(Debug)]
struct SearchFailed(std::io::Error);

impl fmt::Display for SearchFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("search failed")
    }
}

impl std::error::Error for SearchFailed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Two items, an error, and two more items; counts how many of the five were asked for.
fn failing_midway(asked_for: &Arc<AtomicUsize>) -> Source<Request> {
    let asked_for = Arc::clone(asked_for);
    Source::stream("rag", move |_: &Request| {
        let asked_for = Arc::clone(&asked_for);
        stream::iter(0..5).map(move |number| {
            asked_for.fetch_add(1, Ordering::SeqCst);
            match number {
                2 => Err(SearchFailed(std::io::Error::other("shard 3 is down"))),
                _ => Ok(item(&format!("hit {number}"), 10)),
            }
        })
    })
}

#[tokio::test]
async fn a_required_source_fails_the_call_with_its_name_and_cause() {
    let model = Echo::default();
    let asked_for = Arc::default();
    let layer = layer_with([failing_midway(&asked_for).required()]).build().unwrap();
    let outcome = call(&mut layer.layer(model.clone()), request()).await;
    let Err(error) = outcome else { panic!("the call went through") };
    assert_eq!(error.to_string(), "required source \"rag\" failed: search failed");
    assert_eq!(model.calls(), 0);

    // The whole chain is there, through the outer error as well.
    let cause = error.source().unwrap();
    assert!(cause.is::<SearchFailed>());
    assert_eq!(cause.source().unwrap().to_string(), "shard 3 is down");
    let Error::Context(ContextError::Source { name, outcome, cause }) = error else {
        panic!("another error");
    };
    assert_eq!(&*name, "rag");
    assert_eq!(outcome, SourceOutcome::Failed { error: "search failed".to_owned() });
    assert!(cause.unwrap().downcast::<SearchFailed>().is_ok());
}

#[tokio::test]
async fn an_optional_source_keeps_what_came_before_the_error_and_is_asked_no_more() {
    let asked_for = Arc::default();
    let rag = failing_midway(&asked_for).optional();
    let (sent, selection) = report(layer_with([rag]), request()).await.unwrap();
    assert_eq!(sent, ["hit 0", "hit 1"]);
    assert_eq!(asked_for.load(Ordering::SeqCst), 3);
    let source = selection.gather.source("rag").unwrap();
    assert_eq!((source.items, source.tokens), (2, 20));
    assert_eq!(source.outcome, SourceOutcome::Failed { error: "search failed".to_owned() });
    assert_eq!(source.outcome.to_string(), "failed: search failed");
}

#[tokio::test]
async fn a_source_to_be_discarded_leaves_nothing_when_it_fails() {
    let asked_for = Arc::default();
    let sources = [
        failing_midway(&asked_for).discard_on_error(),
        Source::items("notes", [item("note", 1)]).discard_on_error(),
    ];
    let (sent, selection) = report(layer_with(sources), request()).await.unwrap();
    assert_eq!(sent, ["note"]);
    let source = selection.gather.source("rag").unwrap();
    assert_eq!((source.items, source.tokens), (0, 0));
    assert_eq!(source.outcome.name(), "failed");
}

#[tokio::test]
async fn a_source_to_be_discarded_is_discarded_however_much_had_arrived() {
    let long = Source::stream("long", |_: &Request| {
        let items = numbered("hit", 5_000).into_iter().map(Ok);
        stream::iter(items.chain([Err("lost the connection")]))
    });
    let (sent, selection) = report(layer_with([long.discard_on_error()]), request()).await.unwrap();
    assert!(sent.is_empty());
    assert_eq!(selection.report.total_candidates, 0);
}

#[tokio::test(start_paused = true)]
async fn a_source_to_be_discarded_keeps_what_arrived_before_its_deadline() {
    let slow = Source::stream("slow", |_: &Request| {
        stream::iter([Ok::<_, &str>(item("hit", 1))]).chain(stream::pending())
    });
    let slow = slow.deadline(crate::common::ms(10)).discard_on_error();
    let (sent, selection) = report(layer_with([slow]), request()).await.unwrap();
    assert_eq!(sent, ["hit"]);
    assert_eq!(selection.gather.source("slow").unwrap().outcome, SourceOutcome::TimedOut);
}

#[tokio::test]
async fn the_last_policy_set_counts() {
    let broken = || Source::list("rag", |_: &Request| ready(Err::<Vec<_>, _>("gone")));
    let required = [broken().required(), broken().optional().required()];
    for source in required {
        assert!(report(layer_with([source]), request()).await.is_err());
    }
    for policy in [FailurePolicy::KeepArrived, FailurePolicy::DiscardOnError] {
        let source = broken().on_failure(policy);
        assert!(report(layer_with([source]), request()).await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_without_a_policy_that_fails_panics_or_hangs_does_not_fail_the_call() {
    let sources = || {
        [
            failing_midway(&Arc::default()),
            Source::list("panics", |_: &Request| async {
                if true {
                    panic!("no index");
                }
                Ok::<Vec<_>, &str>(Vec::new())
            }),
            Source::stream("hangs", |_: &Request| {
                stream::iter([Ok::<_, &str>(item("late", 1))]).chain(stream::pending())
            }),
        ]
    };
    let asked = || request().item(item("own", 1));
    let start = tokio::time::Instant::now();
    let (sent, selection) = report(layer_with(sources()), asked()).await.unwrap();
    assert_eq!(sent, ["own", "hit 0", "hit 1", "late"]);
    // The deadline of all sources, because nobody set another.
    assert_eq!(start.elapsed(), crate::common::ms(2_000));
    let outcomes: Vec<_> = selection.gather.sources.iter().map(|s| s.outcome.name()).collect();
    assert_eq!(outcomes, ["failed", "panicked", "timed_out"]);
    assert_eq!(FailurePolicy::default(), FailurePolicy::KeepArrived);

    for source in sources() {
        let required = layer_with([source.required()]);
        let error = context_error(report(required, asked()).await);
        assert!(matches!(error, ContextError::Source { .. }), "{error}");
    }
}

#[tokio::test]
async fn one_failing_source_does_not_touch_the_others() {
    let broken = Source::list("broken", |_: &Request| ready(Err::<Vec<_>, _>("gone"))).optional();
    let sources =
        [Source::items("before", [item("b", 1)]), broken, Source::items("after", [item("a", 1)])];
    let (sent, selection) = report(layer_with(sources), request()).await.unwrap();
    assert_eq!(sent, ["b", "a"]);
    let names: Vec<_> = selection.gather.sources.iter().map(|s| s.outcome.name()).collect();
    assert_eq!(names, ["completed", "failed", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn sources_that_another_ones_failure_cut_short_are_abandoned() {
    let hook = Recorder::default();
    let broken = Source::list("broken", |_: &Request| async {
        tokio::time::sleep(crate::common::ms(30)).await;
        Err::<Vec<_>, _>("gone")
    });
    let begun = Source::stream("begun", |_: &Request| {
        stream::iter([Ok::<_, &str>(item("hit", 1))]).chain(stream::pending())
    });
    let layer = layer_with([begun, broken.required()]).hook(hook.clone()).build().unwrap();
    call(&mut layer.layer(Echo::default()), request()).await.unwrap_err();
    let failures = hook.failures.lock().unwrap();
    let begun = failures[0].1.source("begun").unwrap();
    assert_eq!(begun.outcome, SourceOutcome::Abandoned);
    assert!(!begun.outcome.is_failure());
    // Nothing of it became a candidate, but it did run until the failure.
    assert_eq!((begun.items, begun.tokens), (0, 0));
    assert_eq!(begun.elapsed, crate::common::ms(30));
}

#[tokio::test]
async fn of_two_required_failures_the_first_to_happen_is_told() {
    let failing = |name: &'static str, delay| {
        Source::list(name, move |_: &Request| async move {
            tokio::time::sleep(delay).await;
            Err::<Vec<_>, _>("gone")
        })
        .required()
    };
    tokio::time::pause();
    let sources =
        [failing("later", crate::common::ms(20)), failing("sooner", crate::common::ms(10))];
    let error = context_error(report(layer_with(sources), request()).await);
    assert_eq!(error.to_string(), "required source \"sooner\" failed: gone");
}
