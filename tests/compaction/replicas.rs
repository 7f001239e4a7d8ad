//! Replicas that share a store.

use std::time::Duration;

use cupel::gather::MemorySummaries;

use crate::chat::{Behaviour, Counted, FIRST, Replica, compaction, has_summary, talk};

const CALLS: usize = 26;

#[tokio::test(start_paused = true)]
async fn replicas_with_one_store_send_the_same_bytes() {
    let store = MemorySummaries::new(1_000);
    let compactors = [(); 2].map(|()| Counted::new(Behaviour::Outline));
    let replicas =
        compactors.clone().map(|compactor| Replica::new(compaction(compactor, store.clone())));
    let mut seen = false;
    for exchanges in FIRST..=CALLS {
        // They take turns.
        let [one, other] = match exchanges % 2 {
            0 => [&replicas[0], &replicas[1]],
            _ => [&replicas[1], &replicas[0]],
        };
        let sent = one.call_and_settle(talk(exchanges)).await.0;
        assert_eq!(other.call_and_settle(talk(exchanges)).await.0, sent, "{exchanges}");
        seen |= has_summary(&sent);
    }
    assert!(seen);
    let alone = Counted::new(Behaviour::Outline);
    Replica::new(compaction(alone.clone(), MemorySummaries::new(1_000))).follow(CALLS).await;
    let made = compactors.each_ref().map(Counted::made);
    assert_eq!(made[0] + made[1], alone.made(), "{made:?}");
}

#[tokio::test(start_paused = true)]
async fn replicas_that_race_make_each_summary_once() {
    let store = MemorySummaries::new(1_000);
    let compactor = Counted::new(Behaviour::Slow(Duration::from_secs(5)));
    let replicas = [(); 8].map(|()| Replica::new(compaction(compactor.clone(), store.clone())));
    let calls = futures::future::join_all(replicas.iter().map(|it| it.call(talk(20)))).await;
    assert!(calls.windows(2).all(|pair| pair[0].0 == pair[1].0));
    for replica in &replicas {
        replica.settled().await;
    }
    assert_eq!(compactor.made(), store.len());
    let calls = futures::future::join_all(replicas.iter().map(|it| it.call(talk(23)))).await;
    assert!(calls.windows(2).all(|pair| pair[0].0 == pair[1].0));
}
