//! An append with a key happens once.

use cupel_archive::{Append, ArchiveError, Message};

use crate::in_both;

in_both! {
    async fn the_same_append_twice_is_one(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let turn = Append::new([Message::user("a"), Message::assistant("b")]).key("turn-1");
        let first = conversation.append(turn.clone()).await.unwrap();
        conversation.append([Message::user("c")]).await.unwrap();
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
        let message = Message::user("a").tokens(1);
        conversation.append(Append::new([message.clone()]).key("k")).await.unwrap();
        for other in [
            vec![],
            vec![Message::assistant("a").tokens(1)],
            vec![Message::user("b").tokens(1)],
            vec![message.clone().tokens(2)],
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

    async fn a_key_sent_by_eight_at_once_appends_once(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let senders = (0..8).map(|_| {
            let conversation = conversation.clone();
            tokio::spawn(async move {
                conversation.append(Append::new([Message::user("once")]).key("k")).await.unwrap()
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
