//! Archiving what a service was asked and answered.

use std::time::Duration;

use cupel_archive::record::{Chat, RecordLayer, RecordedTurn, Recorder, whole};
use cupel_archive::{Archive, ArchiveMessage, ConversationHandle, Role};
use futures::stream::{self, BoxStream, StreamExt as _};
use serde_json::{Value, json};
use sqlx::Connection as _;
use tower::{BoxError, Layer as _, Service, ServiceExt, service_fn};

use crate::in_both;
use crate::support::Database;

async fn conversation(database: &Database) -> ConversationHandle {
    database.open().await.namespace("t").unwrap().conversation("c").unwrap()
}

async fn contents(conversation: &ConversationHandle) -> Vec<String> {
    let all = conversation.recent(1_000).await.unwrap();
    all.into_iter().map(|stored| stored.message.content).collect()
}

/// A model that repeats the last message of a Chat Completions request, or fails.
async fn echo(request: Value) -> Result<Value, BoxError> {
    let messages = request["messages"].as_array().unwrap();
    let last = messages.last().unwrap()["content"].as_str().unwrap();
    if last == "fail" {
        return Err("no answer".into());
    }
    let message = json!({ "role": "assistant", "content": format!("re: {last}"), "refusal": null });
    Ok(json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] }))
}

fn request(texts: &[&str]) -> Value {
    let roles = ["user", "assistant"].into_iter().cycle();
    let messages =
        texts.iter().zip(roles).map(|(text, role)| json!({ "role": role, "content": text }));
    let system = json!({ "role": "system", "content": "Be brief." });
    json!({ "model": "m", "messages": std::iter::once(system).chain(messages).collect::<Vec<_>>() })
}

in_both! {
    async fn the_new_messages_of_each_call_are_archived_after_it_succeeded(database) {
        let conversation = conversation(database).await;
        let recorder = Recorder::new();
        let of = conversation.clone();
        let layer = RecordLayer::new(recorder.clone(), Chat::new(move |_: &Value| Some(of.clone())));
        let mut model = layer.layer(service_fn(echo));
        model.ready().await.unwrap().call(request(&["a"])).await.unwrap();
        model.ready().await.unwrap().call(request(&["a", "re: a", "fail"])).await.unwrap_err();
        model.ready().await.unwrap().call(request(&["a", "re: a", "b"])).await.unwrap();
        recorder.flush().await;
        assert_eq!(contents(&conversation).await, ["a", "re: a", "b", "re: b"]);
        assert_eq!((recorder.written(), recorder.dropped()), (4, 0));
        let all = conversation.recent(9).await.unwrap();
        assert_eq!((all[0].message.role, all[1].message.role), (Role::User, Role::Assistant));
        assert!(all[1].message.wire.as_deref().unwrap().contains("refusal"));
    }

    async fn turns_of_a_conversation_are_archived_in_their_order(database) {
        let tenant = conversation(database).await.namespace().clone();
        let recorder = Recorder::new();
        let of = tenant.clone();
        let transcript = whole(
            move |(thread, n): &(usize, usize)| {
                let conversation = of.conversation(format!("thread {thread}")).ok()?;
                Some(RecordedTurn::new(conversation, [ArchiveMessage::user(format!("question {n}"))]))
            },
            |answer: &String| vec![ArchiveMessage::assistant(answer.as_str())],
        );
        let model = service_fn(async |(_, n): (usize, usize)| Ok::<_, BoxError>(format!("answer {n}")));
        let mut model = RecordLayer::new(recorder.clone(), transcript).layer(model);
        for n in 0..20 {
            for thread in 0..6 {
                model.ready().await.unwrap().call((thread, n)).await.unwrap();
            }
        }
        recorder.flush().await;
        assert_eq!((recorder.written(), recorder.dropped()), (240, 0));
        let expected: Vec<String> =
            (0..20).flat_map(|n| [format!("question {n}"), format!("answer {n}")]).collect();
        for thread in 0..6 {
            let conversation = tenant.conversation(format!("thread {thread}")).unwrap();
            assert_eq!(contents(&conversation).await, expected);
        }
    }

    async fn a_stream_is_archived_when_it_ended_and_not_when_it_was_interrupted(database) {
        let conversation = conversation(database).await;
        let recorder = Recorder::new();
        let of = conversation.clone();
        let chat = Chat::new(move |_: &Value| Some(of.clone())).streamed();
        let model = service_fn(async |request: Value| {
            let chunk = |text: &str, reason: Value| {
                Ok(json!({ "choices": [{ "delta": { "content": text }, "finish_reason": reason }] }))
            };
            let tool = json!({ "choices": [{ "delta": { "tool_calls": [
                { "index": 0, "id": "call-1", "function": { "name": "look", "arguments": "{\"at\":" } }
            ] }, "finish_reason": null }] });
            let rest = json!({ "choices": [{ "delta": { "tool_calls": [
                { "index": 0, "function": { "arguments": "7}" } }
            ] }, "finish_reason": "tool_calls" }] });
            let chunks: Vec<Result<Value, BoxError>> = match request["how"].as_str().unwrap() {
                "whole" => vec![chunk("Hel", Value::Null), chunk("lo", json!("stop"))],
                "broken" => vec![chunk("Hel", Value::Null), Err("reset".into()), chunk("", json!("stop"))],
                "cut" => vec![chunk("Hel", Value::Null)],
                _ => vec![Ok(tool), Ok(rest)],
            };
            let chunks: BoxStream<'static, Result<Value, BoxError>> = stream::iter(chunks).boxed();
            Ok::<_, BoxError>(chunks)
        });
        let mut model = RecordLayer::new(recorder.clone(), chat).layer(model);
        let mut ask = async |text: &str, how: &str, read: usize| {
            let mut request = request(&[text]);
            request["how"] = json!(how);
            let answer = model.ready().await.unwrap().call(request).await.unwrap();
            answer.take(read).count().await
        };
        // Interrupted by the server, by an error, and by the client.
        ask("lost 1", "cut", 99).await;
        ask("lost 2", "broken", 99).await;
        ask("lost 3", "whole", 1).await;
        assert_eq!(ask("kept", "whole", 99).await, 2);
        ask("look", "tool", 99).await;
        recorder.flush().await;
        assert_eq!(contents(&conversation).await, ["kept", "Hello", "look", "look({\"at\":7})"]);
    }
}

/// A file that somebody else holds does not hold up a response; what does not fit is counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_takes_nothing_delays_no_response_and_drops_are_counted() {
    let database = Database::sqlite();
    let conversation = conversation(&database).await;
    let recorder = Recorder::with_capacity(3);
    let of = conversation.clone();
    let layer = RecordLayer::new(recorder.clone(), Chat::new(move |_: &Value| Some(of.clone())));
    let mut model = layer.layer(service_fn(echo));

    let path = database.folder().unwrap().join("archive.db").display().to_string();
    let mut holder = sqlx::SqliteConnection::connect(&path).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut holder).await.unwrap();
    // They all answer while nothing can be written.
    for n in 0..10 {
        model.ready().await.unwrap().call(request(&[&format!("q{n}")])).await.unwrap();
    }
    let dropped = recorder.dropped();
    assert!((6..=7).contains(&dropped), "3 wait, and one may be under way: {dropped}");
    // The lock goes, and what waited is written.
    sqlx::query("ROLLBACK").execute(&mut holder).await.unwrap();
    recorder.flush().await;
    assert_eq!(recorder.dropped(), dropped);
    assert_eq!(contents(&conversation).await.len() as u64, 2 * (10 - dropped));
    assert_eq!(recorder.written(), 2 * (10 - dropped));
}

/// A turn that is tried again because the file was held is new, though the same was said before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_had_to_wait_is_archived_though_it_says_the_same_again() {
    let database = Database::sqlite();
    let wait = Duration::from_millis(500);
    let archive = database.builder().lock_timeout(wait).open().await.unwrap();
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    let recorder = Recorder::new();
    let turn = || RecordedTurn::following(conversation.clone(), [ArchiveMessage::user("go on")]);
    recorder.open(turn()).answered([ArchiveMessage::assistant("Done.")]);
    recorder.flush().await;
    let path = database.folder().unwrap().join("archive.db").display().to_string();
    let mut holder = sqlx::SqliteConnection::connect(&path).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut holder).await.unwrap();
    recorder.open(turn()).answered([ArchiveMessage::assistant("Done.")]);
    // Longer than an append waits for the lock.
    tokio::time::sleep(2 * wait).await;
    sqlx::query("ROLLBACK").execute(&mut holder).await.unwrap();
    recorder.flush().await;
    assert_eq!(contents(&conversation).await, ["go on", "Done.", "go on", "Done."]);
}

#[tokio::test]
async fn what_a_closed_archive_does_not_take_is_counted_and_the_response_comes() {
    let archive = Archive::open("sqlite::memory:").await.unwrap();
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    let recorder = Recorder::new();
    let layer =
        RecordLayer::new(recorder.clone(), Chat::new(move |_: &Value| Some(conversation.clone())));
    archive.close().await;
    tokio::time::pause();
    let mut model = layer.layer(service_fn(echo));
    model.ready().await.unwrap().call(request(&["a"])).await.unwrap();
    recorder.flush().await;
    assert_eq!((recorder.written(), recorder.dropped()), (0, 1));
    assert!(format!("{recorder:?}").contains("dropped: 1"));
}
