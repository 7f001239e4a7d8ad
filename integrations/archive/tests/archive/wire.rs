//! Requests and answers read from their bytes, whole and streamed.

use cupel_archive::record::{Recorder, Wire};
use cupel_archive::{Archive, ConversationHandle, Role, original};
use serde_json::{Value, json};

async fn conversation() -> ConversationHandle {
    let archive = Archive::open("sqlite::memory:").await.unwrap();
    archive.namespace("t").unwrap().conversation("c").unwrap()
}

fn stream(events: &[Value]) -> String {
    let event = |event: &Value| format!("event: x\r\ndata: {event}\r\n\r\n");
    format!(": hello\n\n{}data: [DONE]\n\n", events.iter().map(event).collect::<String>())
}

/// An answer of Anthropic's that thinks, says something and calls a tool, in its events.
fn anthropic_events() -> Vec<Value> {
    let start = |at: u64, block: Value| json!({"type": "content_block_start", "index": at, "content_block": block});
    let delta =
        |at: u64, delta: Value| json!({"type": "content_block_delta", "index": at, "delta": delta});
    vec![
        json!({"type": "message_start", "message": {"role": "assistant", "content": []}}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "SECRET"})),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "Let me "})),
        json!({"type": "ping"}),
        delta(1, json!({"type": "text_delta", "text": "look."})),
        start(2, json!({"type": "tool_use", "id": "t1", "name": "look", "input": {}})),
        delta(2, json!({"type": "input_json_delta", "partial_json": "{\"at\":"})),
        delta(2, json!({"type": "input_json_delta", "partial_json": "7}"})),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "message_stop"}),
    ]
}

#[tokio::test]
async fn a_loop_in_anthropics_messages_is_archived_once_with_its_results_as_originals() {
    let conversation = conversation().await;
    let recorder = Recorder::new();
    let say = |messages: &[Value], answer: &str| {
        let request = json!({"system": "Help.", "messages": messages}).to_string();
        let turn = Wire::Messages.turn(conversation.clone(), request.as_bytes()).unwrap();
        recorder.open(turn).answered(Wire::Messages.answer(answer.as_bytes()).unwrap());
    };
    let mut messages = vec![json!({"role": "user", "content": "What is at 7?"})];
    say(&messages, &stream(&anthropic_events()));
    messages.extend([
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "SECRET", "signature": "s"},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 7}}]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [
                {"type": "text", "text": "a bridge"}, {"type": "image", "source": {}},
                {"type": "text", "text": "and a river"}]}]}),
    ]);
    let whole = json!({"type": "message", "role": "assistant",
        "content": [{"type": "text", "text": "A bridge over a river."}]});
    say(&messages, &whole.to_string());
    recorder.flush().await;
    let said: Vec<(Role, String)> = conversation
        .recent(9)
        .await
        .unwrap()
        .into_iter()
        .map(|stored| (stored.message.role, stored.message.content))
        .collect();
    let expected = [
        (Role::User, "What is at 7?"),
        (Role::Assistant, "Let me look.\nlook({\"at\":7})"),
        (Role::Tool, "a bridge\n[image]\nand a river"),
        (Role::Assistant, "A bridge over a river."),
    ];
    assert_eq!(said, expected.map(|(role, text)| (role, text.to_owned())));
    for part in ["a bridge", "and a river", "a bridge\n[image]\nand a river"] {
        let found = conversation.namespace().original(&original::key(part)).await.unwrap();
        assert_eq!(found.as_deref(), Some(part));
    }
}

#[test]
fn answers_are_read_whole_and_streamed_and_not_when_they_break_off() {
    let text = |api: Wire, answer: &str| {
        let answer = api.answer(answer.as_bytes())?;
        Some(answer.into_iter().map(|message| message.content).collect::<Vec<_>>().join(" "))
    };
    let chunk = |text: &str, reason: Value| json!({"choices": [{"delta": {"content": text}, "finish_reason": reason}]});
    let chunks = [chunk("Hel", Value::Null), chunk("lo", json!("stop"))];
    let response = json!({"status": "completed", "output": [{"type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "Hello"}]}]});
    let events = [
        json!({"type": "response.created", "response": {"status": "in_progress", "output": []}}),
        json!({"type": "response.completed", "response": response}),
    ];
    let whole = json!({"choices": [{"message": {"role": "assistant", "content": "Hello"}}]});
    for (api, answer) in [
        (Wire::Chat, whole.to_string()),
        (Wire::Chat, stream(&chunks)),
        (Wire::Responses, response.to_string()),
        (Wire::Responses, stream(&events)),
    ] {
        assert_eq!(text(api, &answer).as_deref(), Some("Hello"), "{api:?} {answer}");
    }
    let broken = anthropic_events();
    for (api, answer) in [
        (Wire::Chat, stream(&chunks[..1])),
        (Wire::Responses, stream(&events[..1])),
        (Wire::Messages, stream(&broken[..broken.len() - 1])),
        (Wire::Chat, "no stream".to_owned()),
        (Wire::Messages, r#"{"type":"error"}"#.to_owned()),
        (Wire::Responses, "7".to_owned()),
    ] {
        assert_eq!(text(api, &answer), None, "{api:?} {answer}");
    }
    assert_eq!(Wire::Chat.answer(b"data: \xff\n\n"), None);
}
