//! A client that sends its whole history with every call.

use cupel_archive::{Append, ArchiveMessage, ConversationHandle};

use crate::in_both;

fn user(text: &str) -> ArchiveMessage {
    ArchiveMessage::user(text)
}

fn model(text: &str) -> ArchiveMessage {
    ArchiveMessage::assistant(text)
}

/// Archives a call: the history it was sent, and the answer.
async fn call(
    conversation: &ConversationHandle,
    history: Vec<ArchiveMessage>,
    answer: &str,
) -> i64 {
    let history_length = history.len();
    let mut messages = history;
    messages.push(model(answer));
    let append = Append::new(messages).history(history_length);
    conversation.append(append).await.unwrap().count()
}

async fn contents(conversation: &ConversationHandle) -> String {
    let all = conversation.recent(100).await.unwrap();
    all.into_iter().map(|stored| stored.message.content).collect::<Vec<_>>().join(" ")
}

in_both! {
    async fn only_what_is_new_is_appended(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        assert_eq!(call(&conversation, vec![user("a")], "B").await, 2);
        assert_eq!(call(&conversation, vec![user("a"), model("B"), user("c")], "D").await, 2);
        // A client that sends a window of its history,
        assert_eq!(call(&conversation, vec![user("c"), model("D"), user("e")], "F").await, 2);
        // or a summary of what came before;
        assert_eq!(call(&conversation, vec![user("sum"), model("F"), user("g")], "H").await, 2);
        assert_eq!(contents(&conversation).await, "a B c D e F g H");
        // and one that goes back and says something else.
        assert_eq!(call(&conversation, vec![user("a"), model("B"), user("x")], "Y").await, 2);
        assert_eq!(contents(&conversation).await, "a B c D e F g H x Y");
    }

    async fn the_same_words_again_are_new(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        call(&conversation, vec![user("yes")], "ok").await;
        call(&conversation, vec![user("yes"), model("ok"), user("yes")], "ok").await;
        assert_eq!(contents(&conversation).await, "yes ok yes ok");
        let history = vec![user("yes"), model("ok"), user("yes"), model("ok"), user("yes")];
        call(&conversation, history, "ok").await;
        assert_eq!(contents(&conversation).await, "yes ok yes ok yes ok");
    }
}
