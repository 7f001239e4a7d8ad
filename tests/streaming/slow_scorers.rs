//! The time that scoring takes is not the sources', and it is taken in small pieces.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cupel::gather::{BoxError, Source, SourceOutcome};
use cupel::layer::ContextRequest;
use cupel::placer::UShapedPlacer;
use cupel::scorer::ScorerFacts;
use cupel::{ContextItem, GreedySlice, Policy, Scorer};
use futures::StreamExt;
use tokio::time::advance;

use crate::support::{Builder, item, layer, ms, send, timetable, work};

/// Takes a while for every item, by a clock that stands still otherwise.
struct Slow(Duration);

impl Scorer for Slow {
    fn score(&self, _: &ContextItem, _: &[ContextItem]) -> f64 {
        work(self.0);
        0.5
    }

    fn facts(&self) -> ScorerFacts {
        ScorerFacts::ABSOLUTE
    }
}

/// Items that are there at once, and a source that makes the call wait.
fn slow(streaming: bool, items: usize, wait: u64) -> Builder {
    let policy = Policy::builder()
        .scorer(Slow(Duration::from_micros(100)))
        .slicer(GreedySlice)
        .placer(UShapedPlacer)
        .build();
    let many: Vec<ContextItem> =
        (0..items).map(|number| item(&format!("item {number}"), 1, 0.5)).collect();
    layer(100_000)
        .policy(policy.unwrap())
        .select_while_gathering(streaming)
        .source(Source::items("many", many).deadline(ms(200)))
        .source(timetable("late", vec![(wait, item("late", 1, 0.5))]).deadline(ms(200)))
}

#[tokio::test(start_paused = true)]
async fn what_takes_long_to_score_makes_no_source_late() {
    for streaming in [false, true] {
        // 5,000 items are half a second of scoring, and the sources have 200 ms.
        for wait in [1, 150] {
            let (sent, selection) =
                send(slow(streaming, 5_000, wait), ContextRequest::new(())).await.unwrap();
            assert_eq!(sent.len(), 5_001, "streaming {streaming}, after {wait} ms");
            for source in &selection.gather.sources {
                assert_eq!(source.outcome, SourceOutcome::Completed);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_in_portions_is_read_before_it_is_scored() {
    // Ten portions of 500 items, each after a pause of 5 ms: they are all there after 50 ms.
    let portions = Source::stream("portions", |_: &ContextRequest<()>| {
        futures::stream::iter(0..5_000).then(|number| async move {
            if number % 500 == 0 {
                tokio::time::sleep(ms(5)).await;
            }
            Ok::<_, BoxError>(item(&format!("portioned {number}"), 1, 0.5))
        })
    });
    let (sent, selection) =
        send(slow(true, 10, 1).source(portions.deadline(ms(100))), ContextRequest::new(()))
            .await
            .unwrap();
    assert_eq!(sent.len(), 5_011);
    assert_eq!(selection.gather.source("portions").unwrap().outcome, SourceOutcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn while_items_are_scored_other_tasks_have_their_turns() {
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let others = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, Ordering::SeqCst);
            advance(Duration::ZERO).await;
        }
    });
    send(slow(true, 1_000, 50), ContextRequest::new(())).await.unwrap();
    others.abort();
    // Fifty milliseconds of scoring until the last source ends, a millisecond or two at a time.
    assert!(turns.load(Ordering::SeqCst) >= 25, "{turns:?} turns");
}
