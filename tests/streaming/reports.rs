//! Reports of a streaming selection: counts, a sample, progress, and one clock.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use cupel::gather::Source;
use cupel::layer::{ContextRequest, Snapshot};
use cupel::placer::UShapedPlacer;
use cupel::scorer::{DecayCurve, DecayScorer, TimeProvider};
use cupel::{ContextBudget, ContextItem, GreedySlice, Pipeline};

use crate::support::{item, layer, pinned, send, timetable};

#[tokio::test(start_paused = true)]
async fn what_is_all_there_is_selected_from_at_once() {
    // More than one poll takes.
    let items: Vec<ContextItem> = (0..5_000).map(|i| item(&format!("item {i}"), 10, 0.5)).collect();
    for (pause, expected) in [(None, None), (Some(1), Some(5_001))] {
        let mut builder =
            layer(50).select_while_gathering(true).source(Source::items("list", items.clone()));
        if let Some(pause) = pause {
            builder = builder.source(timetable("slow", vec![(pause, item("slow", 10, 0.5))]));
        }
        let (sent, selection) = send(builder, ContextRequest::new(())).await.unwrap();
        assert_eq!(sent.len(), 5);
        assert_eq!(selection.stream.map(|stream| stream.arrived), expected);
        // A batch lists all that it left out; while items arrive only the best of it is kept.
        let listed = if pause.is_some() { 100 } else { 4_995 };
        assert_eq!(selection.report.excluded.len(), listed);
    }
}

#[tokio::test(start_paused = true)]
async fn everything_is_counted_and_only_the_best_is_kept() {
    // The first one makes the call wait: what is all there at once is not streamed.
    let many = (0..1_000)
        .map(|i| (u64::from(i == 0), item(&format!("item {i}"), 10, f64::from(i) / 1_000.0)));
    let builder = layer(50)
        .select_while_gathering(true)
        .dropped_sample(7)
        .source(timetable("many", many.collect()));
    let request =
        ContextRequest::new(()).item(item("item 999", 10, 0.9985)).item(item("bad", -1, 1.0));
    let (sent, report) = send(builder, request).await.unwrap();
    assert_eq!(sent.len(), 5);
    let stream = report.stream.unwrap();
    assert_eq!(stream.arrived, 1_002);
    assert_eq!(report.report.total_candidates, 1_002);
    assert_eq!(
        (stream.dropped.over_budget, stream.dropped.duplicates, stream.dropped.negative_tokens),
        (995, 1, 1)
    );
    let best: Vec<_> =
        report.report.excluded.iter().map(|e| (e.item.content(), e.reason.name())).collect();
    assert_eq!(best.len(), 7);
    // The request's own copy made room for the retriever's, which scored a little higher.
    assert_eq!(best[0], ("item 999", "Deduplicated"));
    assert_eq!(best[1], ("item 994", "BudgetExceeded"));
    assert_eq!(best[6], ("item 989", "BudgetExceeded"));
}

#[tokio::test(start_paused = true)]
async fn a_watcher_sees_the_selection_change_and_nothing_else() {
    let seen: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let log = Arc::clone(&seen);
    let builder = layer(30)
        .select_while_gathering(true)
        .on_progress(move |snapshot: &Snapshot| {
            let contents = snapshot.selected.iter().map(|item| item.content().to_owned());
            log.lock().unwrap().push(contents.collect());
        })
        .source(
            timetable(
                "rag",
                vec![
                    (10, item("good", 20, 0.5)),
                    (10, item("hopeless", 25, 0.1)), // changes nothing
                    (10, item("better", 20, 0.9)),
                    (10, pinned("late pin", 10)),
                ],
            )
            .required(),
        );
    send(builder, ContextRequest::new(()).item(pinned("pin", 5))).await.unwrap();
    let expected: [&[&str]; 4] =
        [&["pin"], &["pin", "good"], &["pin", "better"], &["pin", "late pin"]];
    assert_eq!(*seen.lock().unwrap(), expected);
}

/// A clock that runs an hour further each time somebody looks.
struct Racing(Arc<AtomicI64>);

impl TimeProvider for Racing {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp(self.0.fetch_add(3_600, Ordering::SeqCst), 0).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn the_clock_stands_still_for_a_request_and_moves_between_requests() {
    let clock = Arc::new(AtomicI64::new(1_000_000));
    let decay = DecayScorer::new(
        Racing(Arc::clone(&clock)),
        DecayCurve::exponential(Duration::from_secs(3_600)).unwrap(),
    );
    let pipeline = Pipeline::builder()
        .scorer(decay)
        .slicer(GreedySlice)
        .placer(UShapedPlacer)
        .build()
        .unwrap();
    let at = |name: &str| {
        let timestamp = DateTime::from_timestamp(1_000_000, 0).unwrap();
        ContextItem::builder(name, 10).timestamp(timestamp).build().unwrap()
    };
    let builder = || {
        cupel::layer::CupelLayer::builder()
            .adapter(cupel::layer::ContextRequestAdapter)
            .pipeline(pipeline.clone())
            .budget(ContextBudget::builder(100).build().unwrap())
            .select_while_gathering(true)
            .source(timetable("rag", vec![(5, at("a")), (5, at("b")), (5, at("c"))]))
    };
    let mut scores = Vec::new();
    for _ in 0..2 {
        let (_, report) = send(builder(), ContextRequest::new(())).await.unwrap();
        let all: Vec<f64> = report.report.included.iter().map(|included| included.score).collect();
        assert!(all.iter().all(|score| *score == all[0]), "{all:?}");
        scores.push(all[0]);
    }
    assert!(scores[1] < scores[0], "{scores:?}");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_may_be_discarded_waits_until_it_ends() {
    use futures::StreamExt;
    let failing = cupel::gather::Source::stream("failing", |_: &crate::support::Request| {
        let items = futures::stream::iter([Ok(item("from a source that fails", 10, 1.0))]);
        items.chain(futures::stream::iter([Err::<ContextItem, _>("disk on fire")]))
    });
    let builder = layer(15)
        .select_while_gathering(true)
        .source(failing.discard_on_error())
        .source(timetable("sound", vec![(10, item("sound", 10, 0.1))]));
    let (sent, report) = send(builder, ContextRequest::new(())).await.unwrap();
    assert_eq!(sent, ["sound"]);
    let failed = report.gather.source("failing").unwrap();
    assert_eq!((failed.items, failed.outcome.to_string()), (0, "failed: disk on fire".to_owned()));
}
