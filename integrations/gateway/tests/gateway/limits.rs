//! Requests that are too large or too slow harm only their sender.

use std::time::Duration;

use cupel_gateway::GatewayLimits;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::raw::{RawUpstream, exchange, read_until, request, status};
use crate::support::{PATIENCE, Running, chat, config, in_front_of, ok_server};

const JSON: &str = "Content-Type: application/json\r\n";

async fn post(gateway: &Running, path: &str, body: &str) -> String {
    let asked = request(gateway.address, &format!("POST {path}"), JSON, body);
    exchange(gateway.address, asked).await
}

#[tokio::test]
async fn who_announces_much_and_sends_little_takes_no_room() {
    let server = ok_server().await;
    let mut config = config(server.url());
    config.limits =
        GatewayLimits { body_bytes: 1 << 20, waiting_bytes: 1 << 20, ..GatewayLimits::default() };
    let gateway = Running::start(config).await;
    let mut writers = Vec::new();
    for framing in ["Content-Length: 1000000", "Transfer-Encoding: chunked", "Content-Length: 9000"]
    {
        let mut writer = TcpStream::connect(gateway.address).await.unwrap();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\n{JSON}Expect: 100-continue\r\n{framing}\r\n\r\n",
            gateway.address
        );
        writer.write_all(head.as_bytes()).await.unwrap();
        // From here on the gateway waits for its body.
        read_until(&mut writer, "100 Continue\r\n\r\n").await;
        writer.write_all(b"1\r\n{").await.unwrap();
        writers.push(writer);
    }
    let answer = post(&gateway, "/v1/chat/completions", &chat("test-900").to_string()).await;
    assert_eq!(status(&answer), 200, "{answer}");
}

#[tokio::test]
async fn bodies_that_wait_together_are_no_larger_than_they_may_be() {
    let server = ok_server().await;
    let mut config = config(server.url());
    config.limits =
        GatewayLimits { body_bytes: 1 << 20, waiting_bytes: 1 << 20, ..GatewayLimits::default() };
    let gateway = Running::start(config).await;
    let large = async || {
        let mut writer = TcpStream::connect(gateway.address).await.unwrap();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\n{JSON}Content-Length: 1048576\r\n\r\n",
            gateway.address
        );
        writer.write_all(head.as_bytes()).await.unwrap();
        drop(writer.write_all(&vec![b' '; (1 << 20) - 1]).await);
        writer
    };
    let mut writer = large().await;
    let body = format!("{}{}", " ".repeat(4_000), chat("test-900"));
    loop {
        let answer = post(&gateway, "/v1/messages", &body).await;
        if status(&answer) == 503 {
            assert!(answer.contains("retry-after: 1\r\n"), "{answer}");
            assert!(answer.contains("overloaded_error"), "{answer}");
            break;
        }
        // Not all of the large one has arrived; or it found the small one there, and is refused itself.
        if timeout(Duration::ZERO, writer.readable()).await.is_ok() {
            writer = large().await;
        }
    }
    drop(writer);
    loop {
        let answer = post(&gateway, "/v1/chat/completions", &body).await;
        if status(&answer) == 200 {
            break;
        }
        assert_eq!(status(&answer), 503, "{answer}");
    }
}

#[tokio::test]
async fn values_without_end_are_refused_before_they_are_read() {
    let server = ok_server().await;
    let gateway = in_front_of(&server).await;
    let many = format!(
        "{{\"model\":\"test-900\",\"messages\":[{{\"role\":\"user\",\"content\":[{}{{}}]}}]}}",
        "{},".repeat(2_000_000)
    );
    for (path, code) in [("/v1/chat/completions", "code"), ("/v1/messages", "message")] {
        let answer = post(&gateway, path, &many).await;
        assert_eq!(status(&answer), 400, "{answer}");
        let error: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert!(error["error"][code].as_str().unwrap().contains("too_many_values"), "{error}");
    }
    assert!(server.arrived().is_empty());
}

#[tokio::test]
async fn a_client_that_sends_too_much_hears_so() {
    let server = ok_server().await;
    let mut config = config(server.url());
    config.limits.body_bytes = 1 << 20;
    let gateway = Running::start(config).await;
    let body = vec![b'['; 16 << 20];
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\n{JSON}Content-Length: {}\r\n\r\n",
        gateway.address,
        body.len()
    );
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    // As most clients do, it reads when it has written.
    timeout(PATIENCE, stream.write_all(&body)).await.unwrap().unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert_eq!(status(&answer), 413, "{answer}");
    assert!(answer.contains("body_too_large"), "{answer}");
}

#[tokio::test]
async fn an_upload_in_chunks_that_stops_ends_the_call() {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let upstream = RawUpstream::start(move |mut stream| {
        let told = told.clone();
        async move {
            read_until(&mut stream, "first").await;
            told.send(()).unwrap();
            let mut rest = Vec::new();
            drop(stream.read_to_end(&mut rest).await);
            told.send(()).unwrap();
        }
    })
    .await;
    let mut config = config(&upstream.url);
    config.limits.stall_time = Duration::from_millis(100);
    let gateway = Running::start(config).await;
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let head = format!(
        "POST /v1/files HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n",
        gateway.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..2 {
        timeout(PATIENCE, tell.recv()).await.unwrap().unwrap();
    }
    let answer = read_until(&mut stream, "\r\n\r\n").await;
    assert_eq!(status(&answer), 502, "{answer}");
}

/// Returns true if the other side has closed a connection.
async fn is_closed(stream: &mut TcpStream) -> bool {
    matches!(timeout(PATIENCE, stream.read(&mut [0; 64])).await, Ok(Ok(0) | Err(_)))
}

#[tokio::test]
async fn idle_connections_make_room_for_others() {
    let server = ok_server().await;
    let mut config = config(server.url());
    config.limits.connections = 3;
    let gateway = Running::start(config).await;
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(TcpStream::connect(gateway.address).await.unwrap());
    }
    let asked = request(gateway.address, "GET /v1/models", "", "");
    assert_eq!(status(&exchange(gateway.address, asked.as_str()).await), 200);
    assert!(is_closed(&mut idle[0]).await);
    // The newest is there yet.
    let last = idle.last_mut().unwrap();
    last.write_all(asked.as_bytes()).await.unwrap();
    assert_eq!(status(&read_until(last, "\r\n\r\n").await), 200);
}

#[tokio::test]
async fn busy_connections_leave_room_for_health() {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let upstream = RawUpstream::start(move |mut stream| {
        let told = told.clone();
        async move {
            read_until(&mut stream, "\r\n\r\n").await;
            told.send(()).unwrap();
            std::future::pending::<()>().await;
        }
    })
    .await;
    let mut config = config(&upstream.url);
    config.limits.connections = 2;
    let gateway = Running::start(config).await;
    let models = request(gateway.address, "GET /v1/models", "", "");
    let mut busy = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        stream.write_all(models.as_bytes()).await.unwrap();
        timeout(PATIENCE, tell.recv()).await.unwrap().unwrap();
        busy.push(stream);
    }
    let health = request(gateway.address, "GET /health/readiness", "", "");
    assert_eq!(status(&exchange(gateway.address, health).await), 200);
    let answer = exchange(gateway.address, models).await;
    assert_eq!(status(&answer), 503, "{answer}");
    assert!(answer.contains("retry-after: 1"), "{answer}");
}

#[tokio::test]
async fn a_limit_that_no_machine_reaches_is_none() {
    let server = ok_server().await;
    let mut config = config(server.url());
    config.limits.connections = usize::MAX;
    config.limits.waiting_bytes = usize::MAX;
    let gateway = Running::start(config).await;
    let answer = post(&gateway, "/v1/chat/completions", &chat("test-900").to_string()).await;
    assert_eq!(status(&answer), 200, "{answer}");
}
