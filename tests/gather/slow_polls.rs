//! Sources that hold the thread while they are polled make nobody else late.

use std::convert::Infallible;
use std::time::Duration;

use cupel::gather::{Source, SourceOutcome, StopReason};
use futures::stream::{self, StreamExt};

use crate::common::{Request, item, layer_with, ms, report, request, work};

/// 64 items, each of which takes a while of the thread.
fn busy(each: Duration) -> Source<Request> {
    Source::stream("busy", move |_: &Request| {
        stream::iter(0..64).map(move |number| {
            work(each);
            Ok::<_, Infallible>(item(&format!("busy-{number}"), 1))
        })
    })
    .optional()
}

fn rules() -> Source<Request> {
    Source::items("rules", [item("rule", 1)])
}

#[tokio::test(start_paused = true)]
async fn a_source_that_holds_the_thread_does_not_fail_another() {
    let own = layer_with([busy(ms(4)).deadline(ms(50)), rules().deadline(ms(50))]);
    let overall = layer_with([busy(ms(4)), rules()]).gather_deadline(ms(50));
    for layer in [own, overall] {
        let (sent, selection) = report(layer, request()).await.unwrap();
        assert!(sent.contains(&"rule".to_owned()));
        let [busy, rules] = selection.gather.sources.as_slice() else { panic!("two sources") };
        assert_eq!((&rules.outcome, rules.elapsed), (&SourceOutcome::Completed, ms(4)));
        assert_eq!(busy.outcome, SourceOutcome::TimedOut);
        // An item takes 4 ms, so 13 of them take it past its deadline; one more is read when it is
        // looked at for the last time.
        assert_eq!((busy.items, busy.elapsed), (14, ms(56)));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_ready_when_the_thread_comes_back_is_in_time() {
    // One poll takes all the time there is before the others have had a look.
    for busy_last in [false, true] {
        let mut sources = vec![busy(ms(400)), rules()];
        if busy_last {
            sources.reverse();
        }
        let (sent, selection) =
            report(layer_with(sources).gather_deadline(ms(50)), request()).await.unwrap();
        assert!(sent.contains(&"rule".to_owned()));
        assert_eq!(selection.gather.stopped, StopReason::Deadline);
        assert_eq!(selection.gather.source("rules").unwrap().outcome, SourceOutcome::Completed);
    }
}

#[tokio::test(start_paused = true)]
async fn the_clock_of_a_source_starts_with_gathering_and_not_with_its_turn() {
    let hanging =
        Source::stream("hanging", |_: &Request| stream::pending::<Result<_, Infallible>>());
    let sources = [busy(ms(80)).limit(1), hanging.deadline(ms(50)).optional()];
    let (_, selection) = report(layer_with(sources), request()).await.unwrap();
    let hanging = selection.gather.source("hanging").unwrap();
    assert_eq!((&hanging.outcome, hanging.elapsed), (&SourceOutcome::TimedOut, ms(80)));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_turns_slow_is_noticed_within_a_few_items() {
    let turning = Source::stream("turning", |_: &Request| {
        stream::iter(0..1_000).map(|number| {
            if number >= 100 {
                work(ms(4));
            }
            Ok::<_, Infallible>(item(&format!("turning-{number}"), 1))
        })
    });
    let sources = [turning.deadline(ms(50)).optional()];
    let (_, selection) = report(layer_with(sources), request()).await.unwrap();
    let turning = selection.gather.source("turning").unwrap();
    assert_eq!(turning.outcome, SourceOutcome::TimedOut);
    assert!((112..=132).contains(&turning.items), "{} items", turning.items);
}
