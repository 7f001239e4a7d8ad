//! Large requests do not hold up others: they are read, counted, cut and written off the executor.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cupel_gateway::Gateway;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::local_server::LocalServer;
use crate::local_server::answer::Reply;
use crate::support::{config, http};

/// A request with a tool result of about a mebibyte.
fn large(seed: usize) -> Value {
    let line = |at: usize| format!("{seed}-{at}: parcel {} of shelf {} is blue\n", at * 7, at % 90);
    let result: String = (0..30_000).map(line).collect();
    json!({"model": "test-2600", "max_completion_tokens": 50, "messages": [
        {"role": "user", "content": "Which parcel is red?"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function",
            "function": {"name": "list", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": result},
    ]})
}

#[tokio::test]
async fn health_is_answered_while_as_many_large_requests_as_threads_are_fitted() {
    let arrived = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&arrived);
    let server = LocalServer::start(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Reply::Text("ok".to_owned()) }
    })
    .await;
    // The gateway has two threads of its own, so that only they can be held up.
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let runtime = threads.worker_threads(2).enable_all().build().unwrap();
    let gateway = Gateway::new(config(server.url())).unwrap();
    let listening = runtime.spawn(TcpListener::bind("127.0.0.1:0"));
    let listener = listening.await.unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(gateway.serve(listener, std::future::pending()));

    let calls: Vec<_> = (0..2)
        .map(|seed| {
            let body = large(seed).to_string();
            let url = format!("http://{address}/v1/chat/completions");
            let call = http().post(url).header("content-type", "application/json").body(body);
            tokio::spawn(async move { call.send().await.unwrap().status().as_u16() })
        })
        .collect();
    let client = http();
    let mut answered = 0;
    while arrived.load(Ordering::SeqCst) == 0 {
        let health = client.get(format!("http://{address}/health/liveness")).send().await.unwrap();
        assert_eq!(health.status(), 200);
        answered += 1;
    }
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert!(answered > 20, "{answered} answers before the first request was fitted");
    runtime.shutdown_background();
}
