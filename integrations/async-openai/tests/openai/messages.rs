//! Facts about messages: pins, refusals, attributes, uncounted parts.

use std::sync::{Arc, Mutex};

use cupel::conversation::Attributes;
use cupel::diagnostics::{ExcludedItem, ExclusionReason};
use cupel::layer::Selection;
use cupel_async_openai::{ChatService, OpenAiAdapter};
use serde_json::{Value, json};
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::arbitrary::{chat_tool, png};
use crate::support::{
    adapter, assistant, builder, calling, chat, client, contents, ok_server, sent, system, tool,
    user, words,
};

/// Sends a request, and returns the messages that arrive and the selection.
async fn send(adapter: OpenAiAdapter, request: Value) -> (Vec<String>, Selection) {
    let server = ok_server().await;
    let layer = builder(adapter).build().unwrap();
    let mut service = ServiceBuilder::new()
        .layer(layer.with_report())
        .service(ChatService::new(client(server.url())));
    let call = service.ready().await.unwrap().call(chat(request));
    let (_, selection) = call.await.unwrap();
    (sent(&server), selection)
}

/// Why messages were left out that no API would take.
fn filtered(selection: &Selection) -> Vec<String> {
    let reason = |excluded: &ExcludedItem| match &excluded.reason {
        ExclusionReason::Filtered { filter_name } => Some(filter_name.clone()),
        _ => None,
    };
    selection.report.excluded.iter().filter_map(reason).collect()
}

#[tokio::test]
async fn what_the_api_would_refuse_is_left_out_and_named() {
    let messages = json!([
        system("s"),
        tool("lost", "an answer to nothing"),
        user("first"),
        calling(&["a", "b"]),
        tool("a", "one of two"),
        json!({"role": "assistant", "content": null}),
        json!({"role": "assistant", "content": null, "tool_calls": []}),
        user("second"),
    ]);
    let (sent, selection) =
        send(adapter("gpt-4o"), json!({"model": "gpt-4o", "messages": messages})).await;
    assert_eq!(contents(&sent), ["s", "first", "second"]);
    let mut why = filtered(&selection);
    why.sort_unstable();
    assert_eq!(
        why,
        [
            "an assistant message without content or calls",
            "an assistant message without content or calls",
            "result without its tool call \"lost\"",
            "tool call \"b\" without its result",
        ]
    );
}

#[tokio::test]
async fn the_newest_results_and_the_question_survive_a_long_tool_loop() {
    let mut messages = vec![system("s"), user("the question")];
    for round in 0..12 {
        let id = format!("call_{round}");
        messages.push(calling(&[&id]));
        messages.push(tool(&id, &words(round, 90)));
    }
    let request = json!({"model": "test-300", "messages": messages});
    let (sent, selection) = send(adapter("test-300"), request).await;
    let texts = contents(&sent);
    assert_eq!((texts[0].as_str(), texts[1].as_str()), ("s", "the question"));
    assert!(sent[sent.len() - 1].contains("call_11"));
    assert!(sent.len() < messages.len());
    assert!(selection.report.excluded.iter().all(|one| one.item.content().contains("tool:")));
}

#[tokio::test]
async fn calls_in_the_older_form_stay_with_their_results() {
    let function = |text: &str| json!({"role": "function", "name": "old", "content": text});
    let call = json!({"role": "assistant", "function_call": {"name": "old", "arguments": "{}"}});
    let messages =
        json!([call, function("answered"), user("u"), call, user("interrupted"), function("lost")]);
    let (sent, selection) =
        send(adapter("gpt-4o"), json!({"model": "gpt-4o", "messages": messages})).await;
    assert_eq!(contents(&sent), ["", "answered", "u", "interrupted"]);
    assert_eq!(filtered(&selection).len(), 2);
}

#[tokio::test]
async fn a_hook_decides_what_a_message_is_worth() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&seen);
    let adapter = adapter("test-300").attributes(move |message| {
        record.lock().unwrap().push((message.index(), message.role().to_owned(), message.tokens()));
        match message.name() {
            Some("reviewer") => Attributes::new().pinned(true),
            _ if message.text().contains("w0 ") => Attributes::new().priority(1).tag("zero"),
            _ => Attributes::new(),
        }
    });
    let mut messages: Vec<Value> = (0..20).map(|number| assistant(&words(number, 60))).collect();
    messages[2] = json!({"role": "user", "name": "reviewer", "content": "never forget this"});
    messages.push(user("u"));
    let (sent, selection) = send(adapter, json!({"model": "test-300", "messages": messages})).await;
    assert!(contents(&sent).contains(&"never forget this".to_owned()));
    assert!(!selection.report.excluded.is_empty());
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 21);
    assert_eq!((seen[2].0, seen[2].1.as_str()), (2, "user"));
    assert!(seen.iter().all(|(_, _, tokens)| *tokens > 3));
    let all = selection.report.included.iter().map(|one| &one.item);
    let all = all.chain(selection.report.excluded.iter().map(|one| &one.item));
    assert!(all.clone().any(|item| item.tags().iter().any(|tag| tag == "zero")));
    // Dated by position.
    let mut timestamps: Vec<_> = all.map(|item| item.timestamp().unwrap()).collect();
    timestamps.sort_unstable();
    timestamps.dedup();
    assert_eq!(timestamps.len(), 21);
}

#[tokio::test]
async fn rules_are_the_callers() {
    let messages = json!([user("u"), assistant(&words(1, 300))]);
    let request = json!({"model": "test-60", "messages": messages});
    let adapter = adapter("test-60").rules(|rules| rules.pin_latest(false));
    let (sent, _) = send(adapter, request).await;
    assert_eq!(contents(&sent), ["u"]);
}

#[tokio::test]
async fn what_cannot_be_counted_is_named() {
    let request = json!({
        "model": "gpt-4o",
        "web_search_options": {},
        "messages": [
            {"role": "assistant", "audio": {"id": "audio_7"}},
            {"role": "user", "content": [
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "text", "text": "Read it."}]},
        ],
    });
    let (_, selection) = send(adapter("gpt-4o"), request).await;
    assert_eq!(selection.uncounted, ["web_search_options", "audio audio_7", "file file-1"]);
}

#[tokio::test]
async fn base64_is_not_counted_as_text() {
    let image = png(512, 512) + &"QUJD".repeat(50_000);
    let audio = "QUJD".repeat(4_000);
    let request = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": image, "detail": "high"}},
        {"type": "input_audio", "input_audio": {"data": audio, "format": "mp3"}}]}]});
    let (_, selection) = send(adapter("gpt-4o"), request).await;
    let tokens = selection.report.included[0].item.tokens();
    // 255 for a tile, 30 for three seconds.
    assert!((255..400).contains(&tokens), "{tokens}");
}

#[tokio::test]
async fn when_nothing_could_be_sent_the_error_says_so() {
    let server = ok_server().await;
    let layer = builder(adapter("gpt-4o")).build().unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    let request =
        chat(json!({"model": "gpt-4o", "messages": [tool("lost", "x"), calling(&["a"])]}));
    let error = service.oneshot(request).await.unwrap_err().to_string();
    assert!(error.contains("would refuse all 2 messages"), "{error}");
    assert!(server.arrived().is_empty());
}

#[tokio::test]
async fn every_field_the_caller_set_survives() {
    let server = ok_server().await;
    let request = chat(json!({
        "model": "test-400", "temperature": 0.25, "seed": 7, "user": "u-1", "n": 1,
        "metadata": {"k": "v"}, "stop": ["x"], "parallel_tool_calls": false,
        "tools": [chat_tool()], "tool_choice": "auto",
        "messages": [user(&words(1, 900)), user("u")],
    }));
    let layer = builder(adapter("test-400")).build().unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    service.oneshot(request.clone()).await.unwrap();
    let mut arrived: Value = serde_json::from_slice(&server.take_arrived()[0].body).unwrap();
    let mut expected = serde_json::to_value(request).unwrap();
    assert_eq!(arrived["messages"], json!([user("u")]));
    arrived["messages"].take();
    expected["messages"].take();
    assert_eq!(arrived, expected);
}
