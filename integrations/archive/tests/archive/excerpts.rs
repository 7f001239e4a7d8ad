//! From the mark of an excerpt that a planned turn sent to the whole of it in the archive.

use std::sync::{Arc, Mutex};

use cupel::Policy;
use cupel::layer::CupelLayer;
use cupel::model::TurnPlan;
use cupel_archive::original;
use cupel_archive::record::{Chat, RecordLayer, Recorder, Responses, Transcript};
use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
use serde_json::{Value, json};
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::in_both;

/// Output of a tool: far more than a window of 4,000 tokens, with characters that are easily
/// broken.
fn log() -> String {
    let lines = (0..2_000).map(|n| format!("step {n}: built \"modul\u{e9} {n}\"\t\\ \u{1f980}\r"));
    lines.collect::<Vec<_>>().join("\n")
}

fn chat(content: &Value) -> Value {
    json!({"model": "gpt-4o", "max_completion_tokens": 100, "messages": [
        {"role": "user", "content": "Build it."},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "build", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": content},
    ]})
}

fn responses(output: &Value) -> Value {
    json!({"model": "gpt-4o", "max_output_tokens": 100, "input": [
        {"role": "user", "content": "Build it."},
        {"type": "function_call", "call_id": "c1", "name": "build", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": output},
    ]})
}

/// Sends a request through the recorder and a layer that plans; what went out.
async fn sent(
    recorder: RecordLayer<impl Transcript<Value, Value> + 'static>,
    endpoint: Endpoint,
    request: Value,
) -> String {
    let adapter = OpenAiAdapter::new();
    let cupel = CupelLayer::builder()
        .budget(adapter.window().at_most(4_000))
        .adapter(adapter)
        .policy(Policy::chat())
        .plan(TurnPlan::new().hash(true))
        .build()
        .unwrap();
    let seen = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&seen);
    let model = service_fn(move |body: JsonBody| {
        *sink.lock().unwrap() = body.json().to_string();
        let text = "Built.";
        std::future::ready(Ok::<_, BoxError>(json!({
            "status": "completed", "output": [{"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": text}]}],
            "choices": [{"message": {"role": "assistant", "content": text}}],
        })))
    });
    let mut service = ServiceBuilder::new()
        .layer(recorder)
        .map_request(move |body: Value| JsonBody::parse(endpoint, body.to_string()).unwrap())
        .layer(cupel)
        .service(model);
    service.ready().await.unwrap().call(request).await.unwrap();
    let seen = seen.lock().unwrap();
    seen.clone()
}

/// The key that the only mark of a request names.
fn key(sent: &str) -> String {
    let mut marks = sent.split("the whole is ").skip(1);
    let key = marks.next().expect(sent).chars().take(32).collect();
    assert!(marks.next().is_none(), "{sent}");
    key
}

in_both! {
    async fn the_key_in_the_mark_of_a_planned_turn_finds_the_whole_byte_for_byte(database) {
        let tenant = database.open().await.namespace("t").unwrap();
        let log = log();
        let (first, second) = log.split_at(log.len() / 2 / 8 * 8);
        let parts = |kind: &str| json!([{"type": kind, "text": first}, {"type": kind, "text": ""},
            {"type": kind, "text": second}]);
        let joined = format!("{first}\n{second}");
        for (number, (endpoint, request, whole)) in [
            (Endpoint::Chat, chat(&json!(log)), &log),
            (Endpoint::Responses, responses(&json!(log)), &log),
            (Endpoint::Chat, chat(&parts("text")), &joined),
            (Endpoint::Responses, responses(&parts("input_text")), &joined),
        ].into_iter().enumerate() {
            let recorder = Recorder::new();
            let conversation = tenant.conversation(format!("c{number}")).unwrap();
            let of = move |_: &Value| Some(conversation.clone());
            let sent = match endpoint {
                Endpoint::Chat => {
                    sent(RecordLayer::new(recorder.clone(), Chat::new(of)), endpoint, request).await
                }
                _ => {
                    sent(RecordLayer::new(recorder.clone(), Responses::new(of)), endpoint, request).await
                }
            };
            recorder.flush().await;
            assert!(sent.len() < whole.len() / 4, "{} of {}", sent.len(), whole.len());
            let key = key(&sent);
            assert_eq!(key, original::key(whole));
            assert_eq!(tenant.original(&key).await.unwrap().as_ref(), Some(whole));
            tenant.forget_all().await.unwrap();
        }
    }
}
