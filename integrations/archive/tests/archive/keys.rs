//! An append with a key happens once.

use cupel_archive::{Append, ArchiveError, ArchiveMessage};

use sha2::{Digest as _, Sha256};
use sqlx::Connection as _;

use crate::in_both;
use crate::support::Database;

/// The digest of an append that versions before this one kept: role, kind, text and tokens of each
/// message, and nothing else in it.
fn earlier_digest(messages: &[(i16, &str, &str, i64)]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for (role, kind, content, tokens) in messages {
        hash.update(role.to_le_bytes());
        for part in [kind, content] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.update(tokens.to_le_bytes());
        hash.update(i64::MIN.to_le_bytes()); // no time
        hash.update(0_u64.to_le_bytes()); // no metadata
        hash.update([0]); // no wire
        hash.update(0_u64.to_le_bytes());
        hash.update(0_u64.to_le_bytes()); // no originals
    }
    hash.finalize().to_vec()
}

async fn set_digest(database: &Database, digest: &[u8]) {
    const SET: &str = "UPDATE cupel_appends SET digest = $1";
    if database.folder().is_some() {
        let mut file = sqlx::SqliteConnection::connect(&database.address).await.unwrap();
        sqlx::query(SET).bind(digest).execute(&mut file).await.unwrap();
    } else {
        let mut server = sqlx::PgConnection::connect(&database.address).await.unwrap();
        sqlx::query(SET).bind(digest).execute(&mut server).await.unwrap();
    }
}

in_both! {
    async fn the_same_append_twice_is_one(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let turn = Append::new([ArchiveMessage::user("a"), ArchiveMessage::assistant("b")]).key("turn-1");
        let first = conversation.append(turn.clone()).await.unwrap();
        conversation.append([ArchiveMessage::user("c")]).await.unwrap();
        let again = conversation.append(turn.clone()).await.unwrap();
        assert_eq!((first.numbers(), first.repeated), (1..=2, false));
        assert_eq!((again.numbers(), again.repeated), (1..=2, true));
        assert_eq!(conversation.recent(9).await.unwrap().len(), 3);
        // A key belongs to its conversation.
        let other = archive.namespace("t").unwrap().conversation("d").unwrap();
        assert!(!other.append(turn.clone()).await.unwrap().repeated);
        let tenant = archive.namespace("u").unwrap().conversation("c").unwrap();
        assert!(!tenant.append(turn).await.unwrap().repeated);
    }

    async fn a_key_with_other_messages_is_an_error(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let message = ArchiveMessage::user("a").tokens(1);
        conversation.append(Append::new([message.clone()]).key("k")).await.unwrap();
        for other in [
            vec![],
            vec![ArchiveMessage::assistant("a").tokens(1)],
            vec![ArchiveMessage::user("b").tokens(1)],
            vec![message.clone().wire("")],
            vec![message.clone().metadata_entry("a", "")],
            vec![message.clone(), message.clone()],
        ] {
            let error = conversation.append(Append::new(other).key("k")).await.unwrap_err();
            assert_eq!(error, ArchiveError::KeyReused { key: "k".to_owned() });
        }
        // Nothing of the refused appends is there, and no number was spent.
        assert_eq!(conversation.append([message]).await.unwrap().numbers(), 2..=2);
    }

    async fn a_retry_is_the_same_append_though_its_tokens_are_counted_otherwise(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let turn = |tokens| Append::new([ArchiveMessage::user("a").tokens(tokens)]).key("k");
        conversation.append(turn(1)).await.unwrap();
        assert!(conversation.append(turn(2)).await.unwrap().repeated);
    }

    async fn a_key_of_an_earlier_version_is_known_however_its_tokens_are_counted_now(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        conversation.append([ArchiveMessage::user("first")]).await.unwrap();
        let turn = |text: &str, tokens| {
            let messages = [ArchiveMessage::user("first"), ArchiveMessage::user(text).tokens(tokens), ArchiveMessage::tool("b").tokens(tokens)];
            Append::new(messages).history(1).key("k")
        };
        conversation.append(turn("a", 7)).await.unwrap();
        let first = ArchiveMessage::user("first").tokens;
        let before = earlier_digest(&[(1, "Message", "first", first), (1, "Message", "a", 7), (3, "ToolOutput", "b", 7)]);
        set_digest(database, &before).await;
        for tokens in [7, 8] {
            let again = conversation.append(turn("a", tokens)).await.unwrap();
            assert_eq!((again.numbers(), again.repeated), (2..=3, true));
        }
        conversation.append(turn("other", 7)).await.unwrap_err();
        // What is no longer there cannot say how it was counted.
        conversation.pop().await.unwrap();
        assert!(conversation.append(turn("a", 7)).await.unwrap().repeated);
        conversation.append(turn("a", 8)).await.unwrap_err();
    }

    async fn a_key_sent_by_eight_at_once_appends_once(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let senders = (0..8).map(|_| {
            let conversation = conversation.clone();
            tokio::spawn(async move {
                conversation.append(Append::new([ArchiveMessage::user("once")]).key("k")).await.unwrap()
            })
        });
        let mut new = 0;
        for sender in senders.collect::<Vec<_>>() {
            let appended = sender.await.unwrap();
            assert_eq!(appended.numbers(), 1..=1);
            new += usize::from(!appended.repeated);
        }
        assert_eq!((new, conversation.recent(9).await.unwrap().len()), (1, 1));
    }
}
