//! Faults of compactors and stores: no call fails or waits, and nothing half is sent.

use std::time::Duration;

use cupel::gather::{ClaimOutcome, CompactorPrice, MemorySummaries, SummaryScope, SummaryStore};
use cupel::layer::SummaryProblem;
use tokio::time::Instant;

use crate::chat::{
    Behaviour, Counted, FIRST, Faulty, Replica, StoreFault, compaction, has_summary, plain, talk,
    text,
};

const CALLS: usize = 24;

#[tokio::test(start_paused = true)]
async fn a_compactor_with_a_fault_leaves_the_plan_as_it_is() {
    let plain = plain(CALLS).await;
    for behaviour in
        [Behaviour::Hangs, Behaviour::Panics, Behaviour::Fails, Behaviour::Empty, Behaviour::Huge]
    {
        let replica =
            Replica::new(compaction(Counted::new(behaviour), MemorySummaries::new(1_000)));
        let mut problems = Vec::new();
        for (exchanges, plain) in (FIRST..).zip(&plain) {
            let begun = Instant::now();
            let (sent, selection) = replica.call(talk(exchanges)).await;
            assert_eq!(begun.elapsed(), Duration::ZERO, "{behaviour:?}");
            assert_eq!(sent, *plain, "{behaviour:?}");
            problems.extend(selection.summaries.unwrap().problems);
            replica.settled().await;
        }
        let expected = match behaviour {
            Behaviour::Hangs => SummaryProblem::Late,
            Behaviour::Empty => SummaryProblem::Empty,
            Behaviour::Huge => SummaryProblem::TooLong,
            Behaviour::Fails => SummaryProblem::Failed { error: "no model".to_owned() },
            _ => SummaryProblem::Panicked { message: "in the compactor".to_owned() },
        };
        assert!(problems.contains(&expected), "{behaviour:?}: {problems:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_with_a_fault_leaves_the_plan_as_it_is() {
    let plain = plain(CALLS).await;
    for fault in [StoreFault::Down, StoreFault::Slow, StoreFault::Panics] {
        for at in ["find", "claim", "finish"] {
            let store = Faulty { store: MemorySummaries::new(1_000), fault, at };
            let replica = Replica::new(compaction(Counted::new(Behaviour::Outline), store));
            let mut failed = false;
            for (exchanges, plain) in (FIRST..).zip(&plain) {
                let begun = Instant::now();
                let (sent, selection) = replica.call(talk(exchanges)).await;
                assert!(begun.elapsed() <= Duration::from_millis(51), "{fault:?} {at}");
                assert_eq!(sent, *plain, "{fault:?} {at}");
                let report = selection.summaries.unwrap();
                failed |= report.lookup.is_some() || !report.problems.is_empty();
                replica.settled().await;
            }
            assert!(failed, "{fault:?} {at}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_for_a_while_costs_its_calls_the_summaries_alone() {
    let store = MemorySummaries::new(1_000);
    let good = Replica::new(compaction(Counted::new(Behaviour::Outline), store.clone()));
    let calls = good.follow(CALLS).await;
    assert!(has_summary(&calls[CALLS - FIRST].0));
    let down = Faulty { store, fault: StoreFault::Slow, at: "find" };
    let down = Replica::new(compaction(Counted::new(Behaviour::Outline), down));
    let begun = Instant::now();
    let (sent, selection) = down.call(talk(CALLS)).await;
    assert_eq!(selection.summaries.unwrap().lookup, Some(SummaryProblem::Late));
    assert!(begun.elapsed() <= Duration::from_millis(51), "{:?}", begun.elapsed());
    assert_eq!(sent, plain(CALLS).await[CALLS - FIRST]);
    assert_eq!(good.call(talk(CALLS)).await.0, calls[CALLS - FIRST].0);
}

#[tokio::test(start_paused = true)]
async fn a_full_store_forgets_what_was_not_used() {
    let store = MemorySummaries::new(2);
    let replica = Replica::new(compaction(Counted::new(Behaviour::Outline), store.clone()));
    for (sent, selection) in replica.follow(CALLS).await {
        assert!(selection.sent.tokens <= 4_000, "{}", text(&sent));
        assert!(store.len() <= 2);
    }
}

#[tokio::test(start_paused = true)]
async fn work_that_dies_with_its_process_is_begun_again_after_its_lease() {
    let store = MemorySummaries::new(1_000);
    // The runtime of another process, which is dropped in mid-work.
    let hangs = Counted::new(Behaviour::Hangs);
    let (made, shared) = (hangs.made.clone(), store.clone());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let _ = Replica::new(compaction(hangs, shared)).call(talk(20)).await;
            tokio::task::yield_now().await;
        });
    })
    .join()
    .unwrap();
    assert!(made.load(std::sync::atomic::Ordering::SeqCst) > 0);

    let second = Counted::new(Behaviour::Outline);
    let replica = Replica::new(compaction(second.clone(), store));
    let (sent, _) = replica.call_and_settle(talk(20)).await;
    assert_eq!((second.made(), has_summary(&sent)), (0, false), "the lease holds");
    tokio::time::advance(Duration::from_secs(100)).await;
    replica.call_and_settle(talk(20)).await;
    assert!(second.made() > 0);
    let mut seen = false;
    for exchanges in 21..28 {
        seen |= has_summary(&replica.call_and_settle(talk(exchanges)).await.0);
    }
    assert!(seen);
}

#[test]
fn without_a_runtime_there_are_no_summaries() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let plain = runtime.block_on(plain(CALLS));
    let compactor = Counted::new(Behaviour::Outline);
    let replica = Replica::new(compaction(compactor.clone(), MemorySummaries::new(1_000)));
    for (exchanges, plain) in (FIRST..).zip(plain) {
        let (sent, _) = futures::executor::block_on(replica.call(talk(exchanges)));
        assert_eq!(sent, plain);
    }
    assert_eq!(compactor.made(), 0);
}

#[tokio::test(start_paused = true)]
async fn summaries_cost_no_more_than_their_share_of_the_input() {
    let price = CompactorPrice { input: 0.2, output: 0.8 };
    let compactor = Counted { price, ..Counted::new(Behaviour::Outline) };
    let replica = Replica::new(compaction(compactor.clone(), MemorySummaries::new(1_000)));
    let calls = replica.follow(100).await;
    let report = calls.last().unwrap().1.summaries.as_ref().unwrap();
    let ledger = report.ledger;
    assert!(compactor.made() > 0 && ledger.spent > 0.0, "{ledger:?}");
    assert!(ledger.spent <= 0.05 * ledger.input_cost, "{ledger:?}");
    assert!(ledger.input_cost > 80.0 * 1_000.0, "{ledger:?}");
    let over = |report: &cupel::layer::SummaryReport| {
        report.problems.contains(&SummaryProblem::OverBudget)
    };
    assert!(calls.iter().any(|(_, it)| over(it.summaries.as_ref().unwrap())));
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_keeps_nothing() {
    let store = MemorySummaries::new(10);
    let scope = SummaryScope::new("", "talk");
    let key = cupel::conversation::plan::SummaryKey::from_bytes([1; 32]);
    let claim = || cupel::gather::SummaryClaim::new(key, 3, Duration::from_secs(10));
    let (first, second) = (claim(), claim());
    let answers = store.claim(&scope, 0.0, &[first.clone(), second.clone()]).await.unwrap();
    assert_eq!(answers, [ClaimOutcome::Granted, ClaimOutcome::Held]);
    tokio::time::advance(Duration::from_secs(11)).await;
    let answers = store.claim(&scope, 0.0, std::slice::from_ref(&second)).await.unwrap();
    assert_eq!(answers, [ClaimOutcome::Granted]);
    assert!(!store.finish(&scope, &key, first.holder, "the first").await.unwrap());
    assert!(store.finish(&scope, &key, second.holder, "the second").await.unwrap());
    let found = store.find(&scope, &[key]).await.unwrap();
    assert_eq!(&*found.summaries[0].as_ref().unwrap().text, "the second");
}
