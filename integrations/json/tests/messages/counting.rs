//! Estimates beside an independent count: they do not fall short once the margin is added.

use cupel::Policy;
use cupel_json::{Endpoint, JsonBody};
use futures::FutureExt as _;
use serde_json::{Value, json};

use crate::support::{Session, Thinking, layer, send};
use cupel_dev_servers::local_server::messages;
use cupel_dev_servers::replay::runs;

#[test]
fn estimates_with_the_margin_cover_the_count_of_every_recorded_request() {
    // Other runs can be named.
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/turns/data");
    let folder = std::env::var("CUPEL_RUNS_DIR").unwrap_or_else(|_| own.to_owned());
    let layer = layer(400_000, Policy::chat());
    let (mut lowest, mut highest) = (f64::MAX, 0.0_f64);
    for run in runs::read(&folder).unwrap() {
        let session = Session::new(&run.messages, &run.tools(), 400_000, Thinking::None);
        for known in session.calls().into_iter().step_by(5) {
            let body = session.body(known);
            let (sent, report) = send(&layer, &body).unwrap();
            assert_eq!(sent.json(), body);
            let json: Value = serde_json::from_str(&body).unwrap();
            let exact = messages::count::request(&json) as f64;
            let ratio = (report.sent.tokens + report.fixed_tokens) as f64 / exact;
            lowest = lowest.min(ratio);
            highest = highest.max(ratio);
        }
    }
    // The margin is 15 %.
    assert!(lowest >= 0.85, "{lowest}..{highest}");
    assert!(highest <= 1.4, "{lowest}..{highest}");
}

// The only thread for blocking work is busy, so the count cannot be over by the first poll, however slowly
// the test's own thread runs.
#[test]
fn a_long_text_is_estimated_where_it_holds_nobody_up() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    let (release, busy) = std::sync::mpsc::channel::<()>();
    runtime.spawn_blocking(move || busy.recv());
    runtime.block_on(async {
        let layer = layer(400_000, Policy::chat());
        let call = |text: String| {
            let content = json!([{"type": "tool_result", "tool_use_id": "a", "content": text}]);
            let messages = json!([{"role": "user", "content": "Read it."},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "a", "name": "read", "input": {}}]},
                {"role": "user", "content": content}]);
            let body = json!({"model": "test-400000", "max_tokens": 9, "messages": messages});
            let body = JsonBody::parse(Endpoint::Messages, body.to_string()).unwrap();
            let layer = layer.clone();
            Box::pin(async move { layer.select(body).await })
        };
        let short = call("word ".repeat(100)).now_or_never();
        assert!(short.is_some_and(|sent| sent.is_ok()), "a short text waits for nobody");
        let mut long = call("another word ".repeat(10_000));
        assert!((&mut long).now_or_never().is_none(), "it was counted on the caller's task");
        drop(release);
        assert!(long.await.is_ok());
    });
}
