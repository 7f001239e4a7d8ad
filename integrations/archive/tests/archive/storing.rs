//! Messages come back as they went in.

use chrono::{DateTime, Utc};
use cupel::ContextKind;
use cupel_archive::{Append, ArchiveMessage, Page, Role, StoredMessage};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use crate::in_both;
use crate::support::Database;

fn contents(messages: &[StoredMessage]) -> Vec<&str> {
    messages.iter().map(|stored| stored.message.content.as_str()).collect()
}

fn numbers(messages: &[StoredMessage]) -> Vec<i64> {
    messages.iter().map(|stored| stored.number).collect()
}

in_both! {
    async fn everything_comes_back_after_a_restart(database) {
        let time = DateTime::<Utc>::from_timestamp(1_700_000_000, 123_456_789).unwrap();
        let message = ArchiveMessage::tool("nul \0 inside, \u{10ffff} and 日本語\r\n")
            .kind(ContextKind::new("Invoice").unwrap())
            .tokens(-7)
            .time(time)
            .metadata_entry("", "\0")
            .metadata_entry("key", "\"quoted\"")
            .wire("{\"raw\":\"\0\"}");
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        conversation.append([message.clone(), ArchiveMessage::user("")]).await.unwrap();
        archive.close().await;

        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let found = conversation.recent(10).await.unwrap();
        assert_eq!(numbers(&found), [1, 2]);
        assert_eq!(found[0].message, message);
        assert_eq!(found[0].message.time.unwrap().timestamp_subsec_nanos(), 123_456_000);
        assert_eq!(found[1].message.role, Role::User);
        let age = Utc::now() - found[1].message.time.unwrap();
        assert!((0..60).contains(&age.num_seconds()), "{age}");
        archive.close().await;
    }

    async fn pages_go_both_ways_and_end(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        assert_eq!(conversation.recent(5).await.unwrap(), []);
        let appended = conversation.append(Append::new((1..=10).map(|n| ArchiveMessage::user(n.to_string()))));
        assert_eq!(appended.await.unwrap().numbers(), 1..=10);
        let page = |page| conversation.page(page);
        assert_eq!(contents(&conversation.recent(3).await.unwrap()), ["8", "9", "10"]);
        assert_eq!(contents(&page(Page::after(0, 2)).await.unwrap()), ["1", "2"]);
        assert_eq!(contents(&page(Page::after(9, 2)).await.unwrap()), ["10"]);
        assert_eq!(contents(&page(Page::before(3, 9)).await.unwrap()), ["1", "2"]);
        for empty in [Page::after(10, 5), Page::before(1, 5), Page::latest(0), Page::before(-9, 5)] {
            assert_eq!(page(empty).await.unwrap(), [], "{empty:?}");
        }
        assert_eq!(page(Page::after(i64::MIN, u32::MAX)).await.unwrap().len(), 10);
        assert_eq!(page(Page::after(i64::MAX, u32::MAX)).await.unwrap().len(), 0);
    }

    async fn what_is_taken_back_leaves_its_number(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        assert_eq!(conversation.pop().await.unwrap(), None);
        conversation.append([ArchiveMessage::user("a"), ArchiveMessage::user("b")]).await.unwrap();
        assert_eq!(conversation.pop().await.unwrap().unwrap().message.content, "b");
        let next = conversation.append([ArchiveMessage::user("c")]).await.unwrap();
        assert_eq!(next.numbers(), 3..=3);
        assert_eq!(numbers(&conversation.recent(9).await.unwrap()), [1, 3]);
    }

    async fn conversations_are_listed_page_by_page(database) {
        let archive = database.open().await;
        let tenant = archive.namespace("t").unwrap();
        for name in ["b", "Z", "ä", "a"] {
            tenant.conversation(name).unwrap().append([ArchiveMessage::user("x")]).await.unwrap();
        }
        assert_eq!(tenant.conversations(None, 2).await.unwrap(), ["Z", "a"]);
        assert_eq!(tenant.conversations(Some("a"), 9).await.unwrap(), ["b", "ä"]);
        assert!(archive.namespace("T").unwrap().conversations(None, 9).await.unwrap().is_empty());
    }

    async fn an_append_of_nothing_is_nothing(database) {
        let archive = database.open().await;
        let tenant = archive.namespace("t").unwrap();
        let appended = tenant.conversation("c").unwrap().append(Vec::new()).await.unwrap();
        assert_eq!((appended.count(), appended.numbers().count()), (0, 0));
        assert!(tenant.conversations(None, 9).await.unwrap().is_empty());
    }

    async fn large_texts_and_many_messages_fit(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let large = "large \0 text ".repeat(400_000);
        conversation.append([ArchiveMessage::tool(large.as_str())]).await.unwrap();
        let many = (0..2_500).map(|n| ArchiveMessage::user(n.to_string()));
        assert_eq!(conversation.append(Append::new(many)).await.unwrap().numbers(), 2..=2_501);
        let first = conversation.page(Page::after(0, 1)).await.unwrap();
        assert!(first[0].message.content == large);
        assert_eq!(contents(&conversation.recent(1).await.unwrap()), ["2499"]);
    }
}

#[tokio::test]
async fn names_that_no_database_takes_are_refused_in_words() {
    let archive = cupel_archive::Archive::open("sqlite::memory:").await.unwrap();
    let long = "n".repeat(513);
    for (name, part) in [("", "is empty"), (long.as_str(), "513 bytes"), ("a\0b", "NUL")] {
        let error = archive.namespace(name).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("512"), "{error}");
        let tenant = archive.namespace("t").unwrap();
        assert!(tenant.conversation(name).unwrap_err().to_string().contains(part));
        let append = Append::new([ArchiveMessage::user("x")]).key(name);
        let error = tenant.conversation("c").unwrap().append(append).await.unwrap_err();
        assert!(error.to_string().starts_with("key: "), "{error}");
    }
}

fn message() -> impl Strategy<Value = ArchiveMessage> {
    let role =
        prop_oneof![Just(Role::System), Just(Role::User), Just(Role::Assistant), Just(Role::Tool)];
    let time = proptest::option::of(-60_000_000_000_000_000_i64..250_000_000_000_000_000);
    let metadata = proptest::collection::btree_map(".*", ".*", 0..3);
    (role, any::<String>(), any::<i64>(), time, metadata, proptest::option::of(any::<String>()))
        .prop_map(|(role, content, tokens, time, metadata, wire)| {
            let mut message = ArchiveMessage::new(role, content).tokens(tokens);
            message.time = time.and_then(DateTime::from_timestamp_micros);
            message.metadata = metadata;
            message.wire = wire;
            message
        })
}

async fn random_messages_come_back(database: &Database) {
    let archive = database.open().await;
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let lists = proptest::collection::vec(message(), 1..8);
    let mut expected = Vec::new();
    for _ in 0..40 {
        let list = lists.new_tree(&mut runner).unwrap().current();
        conversation.append(list.clone()).await.unwrap();
        expected.extend(list);
    }
    let found = conversation.recent(u32::MAX).await.unwrap();
    assert_eq!(numbers(&found), (1..=expected.len() as i64).collect::<Vec<_>>());
    for (found, mut expected) in found.into_iter().zip(expected) {
        expected.time = expected.time.or(found.message.time);
        assert_eq!(found.message, expected);
    }
}

in_both! {
    async fn any_messages_come_back_byte_for_byte(database) {
        random_messages_come_back(database).await;
    }
}
