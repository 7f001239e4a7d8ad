//! Erased messages are gone, and no others.

use chrono::{TimeDelta, Utc};
use cupel_archive::{Append, ArchiveMessage};

use crate::in_both;

in_both! {
    async fn a_forgotten_conversation_is_empty_and_counts_on(database) {
        let archive = database.open().await;
        let tenant = archive.namespace("t").unwrap();
        let (gone, kept) = (tenant.conversation("gone").unwrap(), tenant.conversation("kept").unwrap());
        let elsewhere = archive.namespace("u").unwrap().conversation("gone").unwrap();
        for conversation in [&gone, &kept, &elsewhere] {
            let turn = Append::new([ArchiveMessage::user("a"), ArchiveMessage::assistant("b")]).key("k");
            conversation.append(turn).await.unwrap();
        }
        assert_eq!(gone.forget().await.unwrap().messages, 2);
        assert_eq!(gone.forget().await.unwrap().messages, 0);
        assert!(gone.recent(9).await.unwrap().is_empty());
        assert_eq!(tenant.conversations(None, 9).await.unwrap(), ["kept"]);
        assert_eq!(kept.recent(9).await.unwrap().len(), 2);
        assert_eq!(elsewhere.recent(9).await.unwrap().len(), 2);
        // The key is forgotten, the numbers go on.
        let turn = Append::new([ArchiveMessage::user("other")]).key("k");
        assert_eq!(gone.append(turn).await.unwrap().numbers(), 3..=3);
        assert_eq!(tenant.forget_all().await.unwrap().messages, 3);
        assert_eq!(elsewhere.recent(9).await.unwrap().len(), 2);
    }

    async fn what_is_older_expires_and_the_rest_stays(database) {
        let archive = database.open().await;
        let tenant = archive.namespace("t").unwrap();
        let mixed = tenant.conversation("mixed").unwrap();
        let old = tenant.conversation("old").unwrap();
        let (now, then) = (Utc::now(), Utc::now() - TimeDelta::days(40));
        mixed.append(Append::new([ArchiveMessage::user("old").time(then)]).key("old")).await.unwrap();
        mixed.append(Append::new([ArchiveMessage::user("new").time(now)]).key("new")).await.unwrap();
        old.append([ArchiveMessage::user("x").time(then)]).await.unwrap();
        let elsewhere = archive.namespace("u").unwrap().conversation("old").unwrap();
        elsewhere.append([ArchiveMessage::user("x").time(then)]).await.unwrap();

        let erased = tenant.expire(now - TimeDelta::days(30)).await.unwrap();
        assert_eq!(erased.messages, 2);
        assert_eq!(tenant.expire(now - TimeDelta::days(30)).await.unwrap().messages, 0);
        let left = mixed.recent(9).await.unwrap();
        assert_eq!((left.len(), left[0].number), (1, 2));
        assert_eq!(tenant.conversations(None, 9).await.unwrap(), ["mixed"]);
        assert_eq!(elsewhere.recent(9).await.unwrap().len(), 1);
        // The key of what stays is still known, the other one is not.
        let again = Append::new([ArchiveMessage::user("new").time(now)]).key("new");
        assert!(mixed.append(again).await.unwrap().repeated);
        let again = Append::new([ArchiveMessage::user("another")]).key("old");
        assert!(!mixed.append(again).await.unwrap().repeated);
        assert_eq!(old.append([ArchiveMessage::user("y")]).await.unwrap().numbers(), 2..=2);
    }
}
