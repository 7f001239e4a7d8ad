//! Upstreams that answer in odd ways: nothing odd reaches the client.

use cupel_gateway::Secret;
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::raw::{RawUpstream, exchange, read_request, request, status};
use crate::support::{Running, config};

async fn answering(answer: &'static [u8]) -> RawUpstream {
    RawUpstream::start(move |mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(answer).await.unwrap();
    })
    .await
}

#[tokio::test]
async fn nobody_is_led_to_another_protocol() {
    let upstream = answering(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhi",
    )
    .await;
    let gateway = Running::start(config(&upstream.url)).await;
    let answer = exchange(gateway.address, request(gateway.address, "GET /v1/x", "", "")).await;
    assert_eq!(status(&answer), 502, "{answer}");
    assert!(answer.contains("upstream_upgrade"), "{answer}");
}

#[tokio::test]
async fn an_older_version_is_not_passed_on() {
    let upstream = answering(b"HTTP/1.0 200 OK\r\n\r\nold").await;
    let gateway = Running::start(config(&upstream.url)).await;
    let answer = exchange(gateway.address, request(gateway.address, "GET /v1/x", "", "")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("3\r\nold\r\n0\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn what_comes_before_an_answer_is_not_taken_for_it() {
    let upstream = answering(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n\
          HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    )
    .await;
    let gateway = Running::start(config(&upstream.url)).await;
    let answer = exchange(gateway.address, request(gateway.address, "GET /v1/x", "", "")).await;
    assert_eq!(status(&answer), 200, "{answer}");
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
}

/// Files of an upstream have the page's address in a browser.
#[tokio::test]
async fn what_an_upstream_sends_cannot_act_for_the_page() {
    let upstream = answering(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Security-Policy: img-src *\r\n\
          Content-Length: 3\r\n\r\n<b>",
    )
    .await;
    for token in [None, Some(Secret::new("the-token"))] {
        let has_page = token.is_some();
        let mut config = config(&upstream.url);
        config.page.token = token;
        let gateway = Running::start(config).await;
        let asked = request(gateway.address, "GET /v1/files/1/content", "", "");
        let answer = exchange(gateway.address, asked).await;
        assert!(answer.contains("content-security-policy: img-src *\r\n"), "{answer}");
        let kept_away = answer.contains("content-security-policy: sandbox\r\n");
        assert_eq!(kept_away, has_page, "{answer}");
    }
}

#[tokio::test]
async fn errors_have_the_shape_that_a_client_of_anthropics_expects_on_all_paths() {
    let gateway = Running::start(config("http://127.0.0.1:9/v1")).await;
    let headers = "anthropic-version: 2023-06-01\r\n";
    for (headers, kind) in [(headers, "api_error"), ("", "gateway_error")] {
        let asked = request(gateway.address, "GET /v1/messages/batches", headers, "");
        let answer = exchange(gateway.address, asked).await;
        assert_eq!(status(&answer), 502, "{answer}");
        let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert_eq!(body["error"]["type"], kind);
        assert_eq!(body["type"] == "error", !headers.is_empty());
    }
}

/// Servers close connections when they like; a client has asked only once.
#[tokio::test]
async fn an_upstream_that_closes_an_idle_connection_loses_no_request() {
    use std::io::{Read as _, Write as _};
    use std::sync::mpsc;

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (close, told) = mpsc::channel::<()>();
    let (closed, tell) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut read = [0; 65_536];
            assert_ne!(stream.read(&mut read).unwrap(), 0);
            // It says nothing of its end, and closes when it is told to.
            let body = r#"{"choices":[]}"#;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all((head + body).as_bytes()).unwrap();
            told.recv().unwrap();
            drop(stream);
            closed.send(()).unwrap();
        }
    });
    let mut config = config(&url);
    let calls = std::sync::Mutex::new((0, close, tell));
    let source = cupel::gather::Source::new("closing", move |_: &cupel_gateway::CallerBody| {
        let mut calls = calls.lock().unwrap();
        calls.0 += 1;
        if calls.0 == 2 {
            // The runtime has one thread, which hears of nothing meanwhile.
            calls.1.send(()).unwrap();
            calls.2.recv().unwrap();
        }
        Box::pin(futures::stream::empty()) as cupel::gather::CandidateStream
    });
    config.code_sources.push(source);
    let gateway = Running::start(config).await;
    let headers = "Content-Type: application/json\r\n";
    let body = r#"{"model":"test-900","messages":[{"role":"user","content":"a"}]}"#;
    let asked = request(gateway.address, "POST /v1/chat/completions", headers, body);
    for _ in 0..2 {
        let answer = exchange(gateway.address, asked.as_str()).await;
        assert_eq!(status(&answer), 200, "{answer}");
    }
}
