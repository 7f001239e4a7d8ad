//! Retrievers that are asked for every request, and what they cannot do.

use std::time::Duration;

use cupel_gateway::{Retriever, Secret};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::raw::{RawUpstream, read_request};
use crate::support::{Running, config, http, ok_server};
use cupel_dev_servers::local_server::LocalServer;

/// A retriever that shows what it is asked and answers with this.
async fn answering(answer: String) -> (RawUpstream, mpsc::UnboundedReceiver<(String, Vec<u8>)>) {
    let (arrived, arrivals) = mpsc::unbounded_channel();
    let retriever = RawUpstream::start(move |mut stream| {
        let (arrived, answer) = (arrived.clone(), answer.clone());
        async move {
            arrived.send(read_request(&mut stream).await).unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    })
    .await;
    (retriever, arrivals)
}

fn found(kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Asks through a gateway with this retriever: what the upstream was sent.
async fn sent(server: &LocalServer, retriever: Retriever) -> Vec<Value> {
    let mut config = config(server.url());
    config.sources = vec![retriever];
    let gateway = Running::start(config).await;
    let body = json!({"model": "test-900", "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "When did order 3 leave?"}]});
    let answer = http()
        .post(gateway.url("/v1/chat/completions"))
        .header("content-type", "application/json")
        .header("authorization", "Bearer sk-client")
        .header("x-private", "mine")
        .body(body.to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    let arrived = server.take_arrived().remove(0);
    let sent: Value = serde_json::from_slice(&arrived.body).unwrap();
    sent["messages"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_a_retriever_finds_is_a_users_message_and_it_learns_nothing_but_the_question() {
    let server = ok_server().await;
    for answer in [
        found("application/json", r#"[{"text":"Order 3 left on day 9.","score":0.9}]"#),
        found("application/x-ndjson", "{\"text\":\"Order 3 left on day 9.\",\"score\":0.9}\n"),
    ] {
        let (upstream, mut arrivals) = answering(answer).await;
        let mut retriever = Retriever::new("manual", upstream.url.clone());
        retriever.deadline = Duration::from_secs(10);
        retriever.key = Some(Secret::new("sk-retriever"));
        let messages = sent(&server, retriever).await;
        let carrying: Vec<&Value> = messages
            .iter()
            .filter(|message| message.to_string().contains("left on day 9"))
            .collect();
        assert_eq!(carrying.len(), 1, "{messages:?}");
        assert_eq!(carrying[0]["role"], "user");
        let (head, body) = arrivals.recv().await.unwrap();
        assert!(head.contains("authorization: bearer sk-retriever"), "{head}");
        assert!(!head.contains("sk-client") && !head.contains("x-private"), "{head}");
        let asked: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(asked["query"], "When did order 3 leave?");
    }
}

#[tokio::test]
async fn a_retriever_that_misbehaves_is_done_without() {
    let server = ok_server().await;
    let huge = format!("[{{\"text\":\"{}\"}}]", "x".repeat(3_000_000));
    for answer in [
        found("application/json", "nonsense"),
        found("application/json", &huge),
        "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
            .to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[".to_owned(),
        String::new(),
    ] {
        let (upstream, _arrivals) = answering(answer).await;
        let mut retriever = Retriever::new("manual", upstream.url.clone());
        retriever.deadline = Duration::from_secs(10);
        assert_eq!(sent(&server, retriever).await.len(), 2);
    }
    let silent = RawUpstream::start(|mut stream| async move {
        read_request(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let mut retriever = Retriever::new("manual", silent.url.clone());
    retriever.deadline = Duration::from_millis(50);
    assert_eq!(sent(&server, retriever).await.len(), 2);
}
