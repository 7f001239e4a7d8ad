//! Summaries in the database: leases, tenants, budgets, and erasing with the conversation.

use std::time::Duration;

use chrono::{TimeDelta, Utc};
use cupel::conversation::plan::SummaryKey;
use cupel::gather::{
    ClaimOutcome, FoundSummaries, LeaseHolder, SummaryClaim, SummaryLedger, SummaryScope,
    SummaryStore as _,
};
use cupel_archive::{ArchiveMessage, ArchiveSummaries};

use crate::in_both;

const LEASE: Duration = Duration::from_secs(60);

fn key(number: u8) -> SummaryKey {
    SummaryKey::from_bytes([number; 32])
}

fn scope(tenant: &str) -> SummaryScope {
    SummaryScope::new(tenant, "talk")
}

async fn claim(
    store: &ArchiveSummaries,
    scope: &SummaryScope,
    claim: &SummaryClaim,
) -> ClaimOutcome {
    store.claim(scope, 0.0, std::slice::from_ref(claim)).await.unwrap()[0]
}

async fn keep(store: &ArchiveSummaries, scope: &SummaryScope, number: u8, asked_at: i64) {
    let wish = SummaryClaim::new(key(number), asked_at, LEASE);
    assert_eq!(claim(store, scope, &wish).await, ClaimOutcome::Granted);
    let text = format!("summary\0 {number} ü");
    assert!(store.finish(scope, &wish.key, wish.holder, &text).await.unwrap());
}

async fn found(
    store: &ArchiveSummaries,
    scope: &SummaryScope,
    number: u8,
) -> Option<(String, i64)> {
    let found = store.find(scope, &[key(99), key(number)]).await.unwrap();
    assert_eq!(found.summaries[0], None);
    found.summaries[1].as_ref().map(|it| (it.text.to_string(), it.asked_at))
}

in_both! {
    async fn a_summary_is_there_for_all_replicas_and_its_tenant_only(database) {
        let [one, other] = [database.open().await, database.open().await];
        keep(&one.summaries(), &scope("t"), 1, 5).await;
        let expected = Some(("summary\0 1 ü".to_owned(), 5));
        assert_eq!(found(&other.summaries(), &scope("t"), 1).await, expected);
        assert_eq!(found(&other.summaries(), &scope("u"), 1).await, None);
        // Missed again: for later cuts only.
        let again = SummaryClaim::new(key(1), 9, LEASE);
        assert_eq!(claim(&other.summaries(), &scope("t"), &again).await, ClaimOutcome::Finished);
        assert_eq!(found(&one.summaries(), &scope("t"), 1).await.unwrap().1, 9);
        let error = one.summaries().find(&scope(""), &[]).await.unwrap_err().to_string();
        assert!(error.contains("namespace"), "{error}");
    }

    async fn one_of_many_that_race_makes_a_summary(database) {
        let archives = [database.open().await, database.open().await];
        let wishes: Vec<SummaryClaim> =
            (0..16).map(|_| SummaryClaim::new(key(1), 0, LEASE)).collect();
        let racing = wishes.iter().enumerate().map(|(at, wish)| {
            let store = archives[at % 2].summaries();
            async move { claim(&store, &scope("t"), wish).await }
        });
        let answers = futures::future::join_all(racing).await;
        let granted = answers.iter().filter(|it| **it == ClaimOutcome::Granted).count();
        assert_eq!(granted, 1, "{answers:?}");
        assert!(answers.iter().all(|it| matches!(it, ClaimOutcome::Granted | ClaimOutcome::Held)));
        let winner = answers.iter().position(|it| *it == ClaimOutcome::Granted).unwrap();
        let (store, other) = (archives[0].summaries(), LeaseHolder(wishes[winner].holder.0 ^ 1));
        assert!(!store.finish(&scope("t"), &key(1), other, "stolen").await.unwrap());
        assert_eq!(found(&store, &scope("t"), 1).await, None);
        assert!(store.finish(&scope("t"), &key(1), wishes[winner].holder, "made").await.unwrap());
        assert_eq!(found(&store, &scope("t"), 1).await.unwrap().0, "made");
    }

    async fn a_lease_that_has_expired_is_free(database) {
        let store = database.open().await.summaries();
        let dead = SummaryClaim::new(key(1), 0, Duration::ZERO);
        assert_eq!(claim(&store, &scope("t"), &dead).await, ClaimOutcome::Granted);
        let next = SummaryClaim::new(key(1), 3, LEASE);
        assert_eq!(claim(&store, &scope("t"), &next).await, ClaimOutcome::Granted);
        assert!(!store.finish(&scope("t"), &key(1), dead.holder, "late").await.unwrap());
        assert!(store.finish(&scope("t"), &key(1), next.holder, "made").await.unwrap());
        assert_eq!(found(&store, &scope("t"), 1).await, Some(("made".to_owned(), 3)));
        // Only noted: nothing is begun.
        let noted = SummaryClaim::new(key(2), 3, None);
        assert_eq!(claim(&store, &scope("t"), &noted).await, ClaimOutcome::Held);
        assert_eq!(claim(&store, &scope("t"), &SummaryClaim::new(key(2), 0, LEASE)).await, ClaimOutcome::Granted);
    }

    async fn summaries_cost_no_more_than_their_share(database) {
        let store = database.open().await.summaries();
        let wish = |number| SummaryClaim::new(key(number), 0, LEASE).cost(30.0, 0.05);
        let none = store.claim(&scope("t"), 500.0, &[wish(1)]).await.unwrap();
        assert_eq!(none, [ClaimOutcome::OverBudget]);
        let one = store.claim(&scope("t"), 500.0, &[wish(1), wish(2)]).await.unwrap();
        assert_eq!(one, [ClaimOutcome::Granted, ClaimOutcome::OverBudget]);
        let ledger = store.find(&scope("t"), &[]).await.unwrap().ledger;
        assert_eq!(ledger, SummaryLedger::new(1_000.0, 30.0));
    }

    async fn summaries_are_erased_with_their_conversation(database) {
        let archive = database.open().await;
        let (store, tenant) = (archive.summaries(), archive.namespace("t").unwrap());
        let talk = tenant.conversation("talk").unwrap();
        let kept = SummaryScope::new("t", "other");
        keep(&store, &kept, 9, 0).await;
        let empty = FoundSummaries::new(vec![None], SummaryLedger::default());

        // Its messages are not in the archive.
        keep(&store, &scope("t"), 1, 0).await;
        talk.forget().await.unwrap();
        assert_eq!(store.find(&scope("t"), &[key(1)]).await.unwrap(), empty);

        let old = Utc::now() - TimeDelta::days(40);
        for erase in 0..3 {
            talk.append([ArchiveMessage::user("old").time(old), ArchiveMessage::user("new")]).await.unwrap();
            let wish = SummaryClaim::new(key(2), 0, LEASE).cost(1.0, 1.0);
            store.claim(&scope("t"), 10.0, std::slice::from_ref(&wish)).await.unwrap();
            match erase {
                0 => talk.forget().await.map(|_| ()).unwrap(),
                1 => tenant.expire(old + TimeDelta::days(1)).await.map(|_| ()).unwrap(),
                _ => store.forget(&scope("t")).await.unwrap(),
            }
            // Whoever was at work keeps nothing.
            assert!(!store.finish(&scope("t"), &key(2), wish.holder, "late").await.unwrap());
            assert_eq!(store.find(&scope("t"), &[key(2)]).await.unwrap(), empty, "{erase}");
        }
        assert!(found(&store, &kept, 9).await.is_some());
        tenant.forget_all().await.unwrap();
        assert!(found(&store, &kept, 9).await.is_none());
    }
}
