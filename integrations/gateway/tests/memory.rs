//! The archive as memory: what a tenant said in another conversation, after a restart.

#![cfg(feature = "archive")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

#[path = "../../local_server/mod.rs"]
#[allow(missing_debug_implementations, unreachable_pub, dead_code, clippy::panic)]
mod local_server;

#[path = "gateway/support.rs"]
#[allow(dead_code)]
mod support;

use std::time::Duration;

use cupel_gateway::{Config, Memory, Secret};
use local_server::LocalServer;
use serde_json::json;
use support::{Running, config, http, ok_server};

fn remembering(server: &LocalServer, file: &std::path::Path) -> Config {
    let mut config = config(server.url());
    let mut memory = Memory::new(Secret::new(format!("sqlite://{}", file.display())));
    memory.deadline = Duration::from_secs(10);
    config.memory = Some(memory);
    config.tenant_secret = Some(Secret::new("tenants"));
    config
}

/// What the upstream is sent.
async fn ask(
    server: &LocalServer,
    gateway: &Running,
    key: &str,
    conversation: &str,
    text: &str,
) -> String {
    let body = json!({"model": "test-900", "messages": [{"role": "user", "content": text}]});
    let sent = http()
        .post(gateway.url("/v1/chat/completions"))
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {key}"))
        .header("x-cupel-conversation", conversation)
        .body(body.to_string());
    assert_eq!(sent.send().await.unwrap().status(), 200);
    String::from_utf8(server.take_arrived().remove(0).body.to_vec()).unwrap()
}

#[tokio::test]
async fn what_was_said_in_another_conversation_comes_back_for_the_same_tenant_only() {
    let file = std::env::temp_dir().join(format!("cupel-memory-{}.db", std::process::id()));
    let server = ok_server().await;
    let gateway = Running::start(remembering(&server, &file)).await;
    let fact = "The gate code of the warehouse in Lyon is 4711.";
    ask(&server, &gateway, "sk-1", "a", fact).await;
    gateway.stop().await.unwrap();

    let gateway = Running::start(remembering(&server, &file)).await;
    let question = "What is the gate code of the warehouse?";
    assert!(ask(&server, &gateway, "sk-1", "b", question).await.contains("4711"));
    assert!(!ask(&server, &gateway, "sk-2", "b", question).await.contains("4711"));
    gateway.stop().await.unwrap();
    for end in ["", "-wal", "-shm"] {
        drop(std::fs::remove_file(format!("{}{end}", file.display())));
    }
}

#[test]
fn an_archive_needs_a_secret_that_outlives_the_process() {
    let mut config = Config::new(cupel_gateway::Upstream::new("http://127.0.0.1:1").unwrap());
    config.memory = Some(Memory::new(Secret::new("sqlite::memory:")));
    assert!(config.problems()[0].starts_with("tenant_secret: missing"));
}
