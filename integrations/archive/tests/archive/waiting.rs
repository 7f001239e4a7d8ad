//! The queue of the archive is bounded in bytes.

use cupel_archive::record::{Chat, RecordLayer, RecordedTurn, Recorder};
use cupel_archive::{Archive, ArchiveMessage, ConversationHandle};
use futures::stream::{self, BoxStream, StreamExt as _};
use serde_json::{Value, json};
use sqlx::Connection as _;
use tower::{BoxError, Layer as _, ServiceExt as _, service_fn};

use crate::support::Database;

const KIB: usize = 1 << 10;

async fn in_memory() -> ConversationHandle {
    let archive = Archive::open("sqlite::memory:").await.unwrap();
    archive.namespace("t").unwrap().conversation("c").unwrap()
}

fn text(kib: usize) -> String {
    "word ".repeat(kib * KIB / 5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_beyond_the_bound_are_dropped_and_counted_at_once() {
    let database = Database::sqlite();
    let archive = database.open().await;
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    let path = database.folder().unwrap().join("archive.db").display().to_string();
    let mut holder = sqlx::SqliteConnection::connect(&path).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut holder).await.unwrap();
    let recorder = Recorder::new().with_max_bytes(1 << 20);
    for _ in 0..10 {
        let turn = RecordedTurn::following(conversation.clone(), [ArchiveMessage::user(text(200))]);
        recorder.open(turn).answered([ArchiveMessage::assistant(text(100))]);
    }
    assert_eq!(recorder.dropped(), 7);
    let waiting = recorder.waiting_bytes();
    assert!((900 * KIB..=1 << 20).contains(&waiting), "{waiting}");
    sqlx::query("ROLLBACK").execute(&mut holder).await.unwrap();
    recorder.flush().await;
    assert_eq!((recorder.written(), recorder.dropped()), (6, 7));
    assert_eq!(recorder.waiting_bytes(), 0);
}

#[tokio::test]
async fn everything_that_a_message_holds_is_counted() {
    let recorder = Recorder::new();
    let message = ArchiveMessage::user(text(10)).wire(text(20)).original(text(30));
    let message = message.metadata_entry("key", text(40));
    let open = recorder.open(RecordedTurn::new(in_memory().await, [message]));
    let waiting = recorder.waiting_bytes();
    assert!((99 * KIB..101 * KIB).contains(&waiting), "{waiting}");
    drop(open); // it was not answered
    assert_eq!((recorder.waiting_bytes(), recorder.dropped()), (0, 0));
}

#[tokio::test]
async fn a_stream_in_flight_is_counted_and_dropped_where_it_outgrows_the_bound() {
    let conversation = in_memory().await;
    let recorder = Recorder::new().with_max_bytes(250 * KIB);
    let of = conversation.clone();
    let chat = Chat::new(move |_: &Value| Some(of.clone())).streamed();
    let chunk = |delta: Value, reason: Value| json!({ "choices": [{ "delta": delta, "finish_reason": reason }] });
    let parts = [
        chunk(json!({ "content": text(100) }), Value::Null),
        chunk(
            json!({ "tool_calls": [{ "index": 0, "function": { "name": "f", "arguments": text(100) } }] }),
            Value::Null,
        ),
        chunk(json!({ "content": text(100) }), Value::Null),
        chunk(json!({}), json!("stop")),
    ];
    let model = service_fn(move |_: Value| {
        let parts = parts.clone().map(Ok::<_, BoxError>);
        let parts: BoxStream<'static, _> = stream::iter(parts).boxed();
        async { Ok::<_, BoxError>(parts) }
    });
    let model = RecordLayer::new(recorder.clone(), chat).layer(model);
    let mut answer = model.oneshot(json!({ "messages": [] })).await.unwrap();
    for held in [100, 200] {
        answer.next().await.unwrap().unwrap();
        let waiting = recorder.waiting_bytes();
        assert!((held * KIB - 1..(held + 2) * KIB).contains(&waiting), "{waiting}");
    }
    answer.next().await.unwrap().unwrap();
    assert_eq!((recorder.waiting_bytes(), recorder.dropped()), (0, 1));
    assert_eq!(answer.count().await, 1); // the client gets all of it
    recorder.flush().await;
    assert!(conversation.recent(9).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_answer_for_which_there_is_no_room_drops_its_turn() {
    let conversation = in_memory().await;
    let recorder = Recorder::new().with_max_bytes(100 * KIB);
    let turn = || RecordedTurn::new(conversation.clone(), [ArchiveMessage::user(text(50))]);
    recorder.open(turn()).answered([ArchiveMessage::assistant(text(60))]);
    assert_eq!((recorder.waiting_bytes(), recorder.dropped()), (0, 1));
    recorder.open(turn()).answered([ArchiveMessage::assistant(text(40))]);
    recorder.flush().await;
    assert_eq!((recorder.written(), recorder.dropped()), (2, 1));
}
