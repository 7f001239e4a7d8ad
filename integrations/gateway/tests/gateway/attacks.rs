//! Clients and upstreams that mean no good: bounded, and the next request works.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::raw::{RawUpstream, exchange, hangs_up, read_request, request, status};
use crate::support::{PATIENCE, Running, chat, config, http, in_front_of, ok_server};

async fn works(gateway: &Running) {
    let body = chat("test-900").to_string();
    let headers = "Content-Type: application/json\r\n";
    let asked = request(gateway.address, "POST /v1/chat/completions", headers, &body);
    assert_eq!(status(&exchange(gateway.address, asked).await), 200);
}

#[tokio::test]
async fn a_body_of_100_megabytes_is_refused() {
    let server = ok_server().await;
    let gateway = in_front_of(&server).await;
    let address = gateway.address;
    let head = "POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close\r\n";
    // By what it says, before any of it is read; and by what comes.
    let announced = format!("{head}Host: {address}\r\nContent-Length: 100000000\r\n\r\n");
    let answer = exchange(address, announced).await;
    assert_eq!(status(&answer), 413, "{answer}");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let chunked = format!("{head}Host: {address}\r\nTransfer-Encoding: chunked\r\n\r\n");
    stream.write_all(chunked.as_bytes()).await.unwrap();
    let piece = [b"100000\r\n".to_vec(), vec![b'['; 0x0010_0000], b"\r\n".to_vec()].concat();
    let mut sent = 0;
    while sent < 100 && stream.write_all(&piece).await.is_ok() {
        sent += 1;
    }
    assert!(sent < 100, "all of it was read");
    assert!(server.arrived().is_empty());
    works(&gateway).await;
}

#[tokio::test]
async fn what_is_too_deep_or_too_many_is_refused_in_both_modes() {
    let server = ok_server().await;
    for fail_closed in [false, true] {
        let mut config = config(server.url());
        config.fail_closed = fail_closed;
        config.limits.messages = 100;
        let gateway = Running::start(config).await;
        let deep = format!("{{\"messages\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let unclosed = "[".repeat(100_000);
        let many = json!({"model": "test-900", "messages": vec![json!({"role": "user", "content": "a"}); 101]});
        for (body, code) in
            [(deep, "too_deep"), (unclosed, "too_deep"), (many.to_string(), "too_many_messages")]
        {
            let sent = http()
                .post(gateway.url("/v1/chat/completions"))
                .header("content-type", "application/json")
                .body(body);
            let answer = sent.send().await.unwrap();
            assert_eq!(answer.status(), 400);
            let error: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
            assert_eq!(error["error"]["code"], code);
        }
        assert!(server.take_arrived().is_empty());
        works(&gateway).await;
        server.take_arrived();
    }
}

#[tokio::test]
async fn a_model_name_injects_no_header() {
    let server = ok_server().await;
    let gateway = in_front_of(&server).await;
    let body = json!({"model": "x\r\nset-cookie: a=1\r\n\u{2028}", "messages": []}).to_string();
    let headers = "Content-Type: application/json\r\n";
    let asked = request(gateway.address, "POST /v1/chat/completions", headers, &body);
    let answer = exchange(gateway.address, asked).await;
    let (head, _) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("x-cupel-passed: unknown_model"), "{head}");
    assert!(!head.lines().any(|line| line.to_lowercase().starts_with("set-cookie")), "{head}");
}

#[tokio::test]
async fn who_writes_or_reads_slowly_is_not_waited_for() {
    let server = ok_server().await;
    let mut config = config(server.url());
    config.limits.body_time = Duration::from_millis(100);
    config.limits.stall_time = Duration::from_millis(300);
    let gateway = Running::start(config).await;
    let address = gateway.address;
    let mut writer = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"
    );
    writer.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    tokio::time::timeout(PATIENCE, writer.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");

    // An upstream with more to say than buffers hold, and a client that takes none of it.
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let upstream = RawUpstream::start(move |mut stream| {
        let told = told.clone();
        async move {
            read_request(&mut stream).await;
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
                .await
                .unwrap();
            let mut sent = 0_u64;
            while stream.write_all(&[b'x'; 65_536]).await.is_ok() {
                sent += 65_536;
            }
            told.send(sent).unwrap();
        }
    })
    .await;
    let mut config = crate::support::config(&upstream.url);
    config.limits.stall_time = Duration::from_millis(300);
    let gateway = Running::start(config).await;
    let mut reader = TcpStream::connect(gateway.address).await.unwrap();
    reader.write_all(request(gateway.address, "GET /v1/models", "", "").as_bytes()).await.unwrap();
    let sent = tokio::time::timeout(PATIENCE, tell.recv()).await.unwrap().unwrap();
    assert!(sent < 200_000_000, "{sent} bytes went somewhere");
    drop(reader);
}

#[tokio::test]
async fn an_upstream_that_misbehaves_harms_only_its_own_call() {
    let cases: [(&[u8], &str); 5] = [
        (b"", "hangs up at once"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "says less than it promised"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc", "ends in mid-chunk"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
            "has two lengths",
        ),
        (b"garbage\r\n\r\n", "speaks no HTTP"),
    ];
    for (answer, what) in cases {
        let upstream = RawUpstream::start(move |mut stream| async move {
            read_request(&mut stream).await;
            stream.write_all(answer).await.unwrap();
        })
        .await;
        let server = ok_server().await;
        let mut config = config(server.url());
        config.upstreams.push(
            cupel_gateway::Upstream::new(&*upstream.url).unwrap().name("bad").models(["test-300"]),
        );
        let gateway = Running::start(config).await;
        let sent = http()
            .post(gateway.url("/v1/chat/completions"))
            .header("content-type", "application/json")
            .body(
                json!({"model": "test-300", "messages": [{"role": "user", "content": "a"}]})
                    .to_string(),
            )
            .send()
            .await
            .unwrap();
        if sent.status() == 200 {
            assert!(sent.text().await.is_err(), "{what}: the answer looks whole");
        } else {
            assert_eq!(sent.status(), 502, "{what}");
            let error: Value = serde_json::from_str(&sent.text().await.unwrap()).unwrap();
            assert_eq!(error["error"]["code"], "upstream_unreachable", "{what}");
        }
        works(&gateway).await;
    }
}

#[tokio::test]
async fn an_upstream_that_hangs_is_not_waited_for_without_end() {
    let upstream = RawUpstream::start(|mut stream| async move {
        let (head, _) = read_request(&mut stream).await;
        if head.contains("/stream") {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc").await.unwrap();
        }
        hangs_up(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let mut config = config(&upstream.url);
    config.limits.answer_time = Duration::from_millis(100);
    config.limits.stall_time = Duration::from_millis(100);
    let gateway = Running::start(config).await;
    let answer = http().get(gateway.url("/v1/models")).send().await.unwrap();
    assert_eq!(answer.status(), 504);
    assert!(http().get(gateway.url("/v1/stream")).send().await.unwrap().text().await.is_err());
}
