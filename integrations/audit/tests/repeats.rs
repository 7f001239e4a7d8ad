//! Repeats in production: found in one request, beside its call.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use cupel::{ContextBudget, Policy};
use cupel_audit::{Planner, RepeatLayer, TurnRepeats};
use cupel_json::{Endpoint, JsonBody};
use serde_json::{Value, json};
use tower::{Layer, ServiceExt, service_fn};

fn call(id: &str, path: &str) -> Value {
    let arguments = json!({"path": path}).to_string();
    json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function",
        "function": {"name": "read_file", "arguments": arguments}}]})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

/// A conversation whose newest turn reads a file that was read at its beginning.
fn conversation(again: &str) -> JsonBody {
    let mut messages = vec![
        json!({"role": "user", "content": "Fix the parser."}),
        call("a", "parser.rs"),
        result("a", "fn parse() {}"),
    ];
    for turn in 0..20 {
        messages.push(json!({"role": "assistant", "content": format!("Step {turn} is done.")}));
        let text = format!("Something else to do, number {turn}. ").repeat(6);
        messages.push(json!({"role": "user", "content": text}));
    }
    messages.push(call("b", "parser.rs"));
    messages.push(result("b", again));
    let json = json!({"model": "gpt-4o", "messages": messages}).to_string();
    JsonBody::parse(Endpoint::Chat, json).unwrap()
}

fn found(again: &str, window: i64) -> (bool, u64) {
    let (policy, budget) = (Policy::chat(), ContextBudget::builder(window).build().unwrap());
    let turn =
        TurnRepeats::find(&conversation(again), |body| Planner::new().plan(body, &policy, &budget));
    let turn = turn.unwrap();
    (turn.is_cut, turn.repeats)
}

#[test]
fn a_call_that_is_repeated_after_a_cut_is_counted() {
    assert_eq!(found("fn parse() {}", 600), (true, 1));
    // The file has changed.
    assert_eq!(found("fn parse() { todo!() }", 600), (true, 0));
    // The same repeat without a cut is the rate to compare with.
    assert_eq!(found("fn parse() {}", 60_000), (false, 1));
}

#[test]
fn the_first_request_has_no_turn_before() {
    let json = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}"#;
    let body = JsonBody::parse(Endpoint::Chat, json).unwrap();
    assert_eq!(TurnRepeats::find(&body, |_| Err("not planned".to_owned())), None);
}

#[tokio::test]
async fn a_layer_counts_beside_the_call_and_changes_nothing() {
    let (sender, mut turns) = tokio::sync::mpsc::unbounded_channel();
    let budget = ContextBudget::builder(600).build().unwrap();
    let layer = RepeatLayer::new(Planner::new(), Policy::chat(), budget, move |turn| {
        sender.send(turn).unwrap();
    });
    let echo = service_fn(|body: JsonBody| async move { Ok::<_, String>(body.json().to_owned()) });
    let body = conversation("fn parse() {}");
    let answer = layer.layer(echo).oneshot(body.clone()).await.unwrap();
    assert_eq!(answer, body.json());
    let turn = turns.recv().await.unwrap();
    assert_eq!((turn.is_cut, turn.repeats), (true, 1));
}
