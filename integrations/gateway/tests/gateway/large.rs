//! Large requests do not hold up others: they are read, counted, cut and written off the executor.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use cupel_gateway::{Gateway, Upstream};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use crate::routing::gzip;
use crate::support::{Running, config, http, ok_server};
use cupel_dev_servers::local_server::LocalServer;
use cupel_dev_servers::local_server::answer::Reply;

/// Longer than anything takes that is going to happen, in a debug build.
const LONG: Duration = Duration::from_secs(60);

/// A request with a tool result of about 35 bytes a line.
fn large(seed: usize, lines: usize) -> Value {
    let line = |at: usize| format!("{seed}-{at}: parcel {} of shelf {} is blue\n", at * 7, at % 90);
    let result: String = (0..lines).map(line).collect();
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
    let mut threads = Builder::new_multi_thread();
    let runtime = threads.worker_threads(2).enable_all().build().unwrap();
    let mut config = config(server.url());
    // A selection that is given up would never arrive.
    config.limits.selection_time = LONG;
    let gateway = Gateway::new(config).unwrap();
    let listening = runtime.spawn(TcpListener::bind("127.0.0.1:0"));
    let listener = listening.await.unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(gateway.serve(listener, std::future::pending()));

    let calls: Vec<_> = (0..2)
        .map(|seed| {
            let body = large(seed, 30_000).to_string();
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

/// Something hangs in the blocking pool and holds its only thread.
#[test]
fn large_requests_are_answered_while_the_blocking_pool_is_full() {
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    let runtime = runtime.unwrap();
    let (_release, busy) = channel::<()>();
    runtime.spawn_blocking(move || busy.recv());
    runtime.block_on(async {
        let server = ok_server().await;
        let mut config = config(server.url());
        config.limits.selection_time = LONG;
        // With two upstreams the gateway looks for the model in every body.
        let other = Upstream::new(server.url()).unwrap().name("other").models(["other*"]);
        config.upstreams.push(other);
        let gateway = Running::start(config).await;
        let send = async |body: Vec<u8>, encoding: &str| {
            let call = http().post(gateway.url("/v1/chat/completions")).body(body);
            let call = call.header("content-type", "application/json");
            let call = call.header("content-encoding", encoding).send();
            let answer = tokio::time::timeout(LONG, call).await.unwrap().unwrap();
            answer.status().as_u16()
        };
        // 70 KB, 400 KB and 2 MB.
        for (seed, lines) in [(1, 2_000), (2, 12_000), (3, 60_000)] {
            let body = large(seed, lines).to_string();
            let encoded = gzip(body.as_bytes());
            assert_eq!(send(body.into_bytes(), "identity").await, 200);
            assert_eq!(send(encoded, "gzip").await, 200);
        }
    });
}
