//! Summaries in memory: tenants, conversations, the bound.

use std::time::Duration;

use cupel::conversation::plan::SummaryKey;
use cupel::gather::{ClaimOutcome, MemorySummaries, SummaryClaim, SummaryScope, SummaryStore};

const LEASE: Duration = Duration::from_secs(60);

fn key(number: u8) -> SummaryKey {
    SummaryKey::from_bytes([number; 32])
}

async fn keep(store: &MemorySummaries, scope: &SummaryScope, number: u8, asked_at: i64) {
    let claim = SummaryClaim::new(key(number), asked_at, LEASE).cost(10.0, 1.0);
    let answer = store.claim(scope, 100.0, std::slice::from_ref(&claim)).await.unwrap();
    assert_eq!(answer, [ClaimOutcome::Granted]);
    let text = format!("summary {number}");
    assert!(store.finish(scope, &claim.key, claim.holder, &text).await.unwrap());
}

async fn found(store: &MemorySummaries, scope: &SummaryScope, number: u8) -> Option<i64> {
    let found = store.find(scope, &[key(number)]).await.unwrap();
    found.summaries[0].as_ref().map(|summary| summary.asked_at)
}

#[tokio::test]
async fn a_tenant_sees_its_own_summaries_only() {
    let store = MemorySummaries::new(10);
    let [one, other] = ["one", "other"].map(|tenant| SummaryScope::new(tenant, "talk"));
    keep(&store, &one, 1, 5).await;
    assert_eq!(found(&store, &one, 1).await, Some(5));
    assert_eq!(found(&store, &other, 1).await, None);
    store.forget(&other).await.unwrap();
    assert_eq!(found(&store, &one, 1).await, Some(5));
}

#[tokio::test]
async fn a_forgotten_conversation_leaves_nothing() {
    let store = MemorySummaries::new(10);
    let scope = SummaryScope::new("", "talk");
    keep(&store, &scope, 1, 5).await;
    keep(&store, &scope, 2, 5).await;
    store.forget(&scope).await.unwrap();
    assert!(store.is_empty());
    let found = store.find(&scope, &[key(1)]).await.unwrap();
    assert_eq!(found, cupel::gather::FoundSummaries::new(vec![None], Default::default()));
}

#[tokio::test]
async fn a_summary_that_was_missed_again_waits_for_a_later_cut() {
    let store = MemorySummaries::new(10);
    let scope = SummaryScope::new("", "talk");
    keep(&store, &scope, 1, 5).await;
    for (asked_at, expected) in [(3, 5), (9, 9), (i64::MIN, 9)] {
        let claim = SummaryClaim::new(key(1), asked_at, LEASE);
        let answer = store.claim(&scope, 0.0, &[claim]).await.unwrap();
        assert_eq!(answer, [ClaimOutcome::Finished]);
        assert_eq!(found(&store, &scope, 1).await, Some(expected));
    }
}

#[tokio::test]
async fn the_entry_that_was_not_used_for_the_longest_time_goes_first() {
    let store = MemorySummaries::new(3);
    let scope = SummaryScope::new("", "talk");
    for number in 1..=3 {
        keep(&store, &scope, number, 0).await;
    }
    assert!(found(&store, &scope, 1).await.is_some());
    keep(&store, &scope, 4, 0).await;
    assert_eq!(store.len(), 3);
    assert!(found(&store, &scope, 1).await.is_some());
    assert!(found(&store, &scope, 2).await.is_none());
}

#[tokio::test]
async fn the_ledger_adds_up_input_and_summaries() {
    let store = MemorySummaries::new(10);
    let scope = SummaryScope::new("", "talk");
    keep(&store, &scope, 1, 0).await;
    keep(&store, &scope, 2, 0).await;
    let ledger = store.find(&scope, &[]).await.unwrap().ledger;
    assert_eq!((ledger.input_cost, ledger.spent), (200.0, 20.0));
    let dear = SummaryClaim::new(key(3), 0, LEASE).cost(1_000.0, 0.05);
    assert_eq!(store.claim(&scope, 0.0, &[dear]).await.unwrap(), [ClaimOutcome::OverBudget]);
    assert_eq!(store.find(&scope, &[]).await.unwrap().ledger, ledger);
}
