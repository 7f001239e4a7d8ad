//! Everything passes byte for byte, as it comes, in both directions; and ends when a client leaves.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};

use crate::raw::{RawUpstream, exchange, hangs_up, read_request, read_until, request, status};
use crate::support::{PATIENCE, Running, chat, config};

/// An upstream that shows what arrives and answers with these bytes.
async fn answering(
    answer: &'static [u8],
) -> (RawUpstream, mpsc::UnboundedReceiver<(String, Vec<u8>)>) {
    let (arrived, arrivals) = mpsc::unbounded_channel();
    let upstream = RawUpstream::start(move |mut stream| {
        let arrived = arrived.clone();
        async move {
            arrived.send(read_request(&mut stream).await).unwrap();
            stream.write_all(answer).await.unwrap();
        }
    })
    .await;
    (upstream, arrivals)
}

#[tokio::test]
async fn a_request_and_its_answer_pass_unchanged() {
    let (upstream, mut arrivals) = answering(
        b"HTTP/1.1 418 I'm a teapot\r\nContent-Length: 6\r\nContent-Encoding: gzip\r\nX-Odd: a\r\n\
          X-Odd: b\r\nConnection: x-private\r\nX-Private: 1\r\nX-Cupel-Report: forged\r\n\
          Retry-After: 7\r\nLocation: http://elsewhere.example/\r\nDate: never\r\n\r\n\x1f\x8b\x00\xff\n\r",
    )
    .await;
    let gateway = Running::start(config(&upstream.url)).await;
    let headers = "X-Cupel-Bypass: 1\r\nX-Kept: yes\r\nAuthorization: Bearer sk-1\r\n\
                   Keep-Alive: 5\r\nTE: trailers\r\nAccept-Encoding: zstd\r\nContent-Type: x/y\r\n";
    let asked = request(gateway.address, "PUT /v1/files/a%20b?x=1&y=%2F", headers, "\0odd\r\n");
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(asked.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();

    let (head, body) = arrivals.recv().await.unwrap();
    assert_eq!(body, b"\0odd\r\n");
    assert!(head.starts_with("put /v1/files/a%20b?x=1&y=%2f http/1.1\r\n"), "{head}");
    let host = upstream.url.trim_start_matches("http://").trim_end_matches("/v1");
    for kept in [
        "x-kept: yes",
        "authorization: bearer sk-1",
        "accept-encoding: zstd",
        "content-type: x/y",
        &format!("host: {host}"),
    ] {
        assert!(head.contains(&format!("{kept}\r\n")), "{kept}: {head}");
    }
    for gone in ["cupel", "keep-alive", "te:", "connection"] {
        assert!(!head.contains(gone), "{gone}: {head}");
    }

    assert!(answer.ends_with(b"\r\n\r\n\x1f\x8b\x00\xff\n\r"), "{answer:?}");
    let answer = String::from_utf8_lossy(&answer).to_lowercase();
    assert_eq!(status(&answer), 418);
    for kept in [
        "x-odd: a",
        "x-odd: b",
        "retry-after: 7",
        "location: http://elsewhere.example/",
        "content-encoding: gzip",
        "content-length: 6",
        "date: never",
    ] {
        assert!(answer.contains(&format!("{kept}\r\n")), "{kept}: {answer}");
    }
    assert!(!answer.contains("x-private") && !answer.contains("forged"), "{answer}");
}

#[tokio::test]
async fn an_answer_passes_as_it_comes() {
    let go_on = Arc::new(Notify::new());
    let wait = Arc::clone(&go_on);
    let upstream = RawUpstream::start(move |mut stream| {
        let wait = Arc::clone(&wait);
        async move {
            read_request(&mut stream).await;
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                        Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n";
            stream.write_all(head.as_bytes()).await.unwrap();
            wait.notified().await;
            stream.write_all(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n").await.unwrap();
        }
    })
    .await;
    let gateway = Running::start(config(&upstream.url)).await;
    let body = chat("test-900").to_string();
    let headers = "Content-Type: application/json\r\n";
    let asked = request(gateway.address, "POST /v1/chat/completions", headers, &body);
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(asked.as_bytes()).await.unwrap();
    // The rest is sent only now that the beginning is here.
    let first = read_until(&mut stream, "data: 1\n\n").await;
    assert!(first.contains("x-cupel-tokens"), "{first}");
    go_on.notify_one();
    let rest = read_until(&mut stream, "0\r\n\r\n").await;
    assert!(rest.contains("data: 2\n\n"), "{rest}");
}

#[tokio::test]
async fn an_upload_passes_as_it_comes() {
    let (seen, mut sights) = mpsc::unbounded_channel();
    let upstream = RawUpstream::start(move |mut stream| {
        let seen = seen.clone();
        async move {
            read_until(&mut stream, "first").await;
            seen.send(()).unwrap();
            read_until(&mut stream, "0\r\n\r\n").await;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        }
    })
    .await;
    let gateway = Running::start(config(&upstream.url)).await;
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let head = format!(
        "POST /v1/files HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n",
        gateway.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    tokio::time::timeout(PATIENCE, sights.recv()).await.unwrap().unwrap();
    stream.write_all(b"4\r\nlast\r\n0\r\n\r\n").await.unwrap();
    let answer = read_until(&mut stream, "\r\n\r\n").await;
    assert_eq!(status(&answer), 200);
    // Nothing more is read from a connection whose last request came in chunks.
    assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_call() {
    const BEGUN: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    for (begin, path, behind) in [
        ("", "/v1/chat/completions", ""),
        ("", "/v1/audio/speech", ""),
        (BEGUN, "/v1/chat/completions", ""),
        // What comes behind the request does not hide that its sender has left.
        ("", "/v1/chat/completions", "\r\n"),
        ("", "/v1/audio/speech", "GET /v1/mod"),
    ] {
        let (told, mut tell) = mpsc::unbounded_channel();
        let upstream = RawUpstream::start(move |mut stream| {
            let told = told.clone();
            async move {
                read_request(&mut stream).await;
                stream.write_all(begin.as_bytes()).await.unwrap();
                told.send(false).unwrap();
                told.send(hangs_up(&mut stream).await).unwrap();
            }
        })
        .await;
        let gateway = Running::start(config(&upstream.url)).await;
        let body = chat("test-900").to_string();
        let headers = "Content-Type: application/json\r\n";
        let asked = request(gateway.address, &format!("POST {path}"), headers, &body);
        let asked = asked.replace("Connection: close\r\n", "") + behind;
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        stream.write_all(asked.as_bytes()).await.unwrap();
        assert_eq!(tell.recv().await, Some(false));
        if !begin.is_empty() {
            read_until(&mut stream, "abc").await;
        }
        drop(stream);
        let left = tokio::time::timeout(PATIENCE, tell.recv()).await.unwrap();
        assert_eq!(left, Some(true), "{path} {begin:?}: the call went on");
    }
}

#[tokio::test]
async fn what_is_under_way_is_finished_before_the_gateway_stops() {
    let go_on = Arc::new(Notify::new());
    let wait = Arc::clone(&go_on);
    let upstream = RawUpstream::start(move |mut stream| {
        let wait = Arc::clone(&wait);
        async move {
            read_request(&mut stream).await;
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
                .await
                .unwrap();
            wait.notified().await;
            stream.write_all(b"3\r\ndef\r\n0\r\n\r\n").await.unwrap();
        }
    })
    .await;
    let gateway = Running::start(config(&upstream.url)).await;
    let address = gateway.address;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let asked = request(address, "GET /v1/models", "", "");
    stream.write_all(asked.as_bytes()).await.unwrap();
    read_until(&mut stream, "abc").await;
    let stopping = gateway.stop();
    // New connections are refused as soon as it has heard of it.
    while TcpStream::connect(address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!stopping.is_finished());
    go_on.notify_one();
    read_until(&mut stream, "def\r\n0\r\n\r\n").await;
    tokio::time::timeout(PATIENCE, stopping).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stream_that_does_not_end_is_cut_off_at_the_deadline() {
    let upstream = RawUpstream::start(|mut stream| async move {
        read_request(&mut stream).await;
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
            .await
            .unwrap();
        hangs_up(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let mut config = config(&upstream.url);
    config.limits.shutdown_time = Duration::from_millis(50);
    let gateway = Running::start(config).await;
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let asked = request(gateway.address, "GET /v1/models", "", "");
    stream.write_all(asked.as_bytes()).await.unwrap();
    read_until(&mut stream, "abc").await;
    tokio::time::timeout(PATIENCE, gateway.stop()).await.unwrap().unwrap();
    assert!(hangs_up(&mut stream).await);
}

#[tokio::test]
async fn keys_and_cookies_go_only_where_they_belong() {
    use cupel_gateway::{Config, Secret, Upstream, UpstreamKey};

    for (key, shown) in [
        (UpstreamKey::Client, Some("bearer sk-client")),
        (UpstreamKey::Own(Secret::new("sk-own")), Some("bearer sk-own")),
        (UpstreamKey::None, None),
    ] {
        let is_clients = key == UpstreamKey::Client;
        let (upstream, mut arrivals) =
            answering(b"HTTP/1.1 200 OK\r\nSet-Cookie: s=1\r\nContent-Length: 0\r\n\r\n").await;
        let gateway =
            Running::start(Config::new(Upstream::new(&*upstream.url).unwrap().key(key))).await;
        let headers =
            "Authorization: Bearer sk-client\r\nX-Api-Key: sk-client\r\nCookie: a=sk-client\r\n";
        let asked = request(gateway.address, "GET /v1/models", headers, "");
        let answer = exchange(gateway.address, asked).await.to_lowercase();
        let (head, _) = arrivals.recv().await.unwrap();
        assert_eq!(head.contains("sk-client"), is_clients, "{head}");
        assert_eq!(answer.contains("set-cookie"), is_clients, "{answer}");
        match shown {
            Some(shown) => assert!(head.contains(&format!("authorization: {shown}\r\n")), "{head}"),
            None => assert!(!head.contains("authorization"), "{head}"),
        }
    }
}
