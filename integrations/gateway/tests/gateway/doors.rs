//! Access: hosts, origins, keys, kinds of requests.

use cupel_gateway::{ClientKey, Config, Gateway, Secret, Upstream, UpstreamKey};
use serde_json::Value;

use crate::raw::{exchange, read_until, request, status};
use crate::support::{Running, chat, config, http, in_front_of, ok_server};

#[tokio::test]
async fn requests_that_are_not_for_us_do_not_get_through() {
    let server = ok_server().await;
    let gateway = in_front_of(&server).await;
    let port = gateway.address.port();
    let ask = |line: &str, headers: &str| {
        format!("{line} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n")
    };
    for (asked, expected) in [
        (ask("GET /v1/models", "Host: evil.example\r\n"), 421),
        (ask("GET /health/liveness", "Host: evil.example\r\n"), 421),
        (ask("GET /cupel/", "Host: evil.example\r\n"), 421),
        (ask("GET /v1/models", ""), 400),
        (
            ask("GET /v1/models", &format!("Host: localhost:{port}\r\nHost: localhost:{port}\r\n")),
            400,
        ),
        (
            ask(
                "GET /v1/models",
                &format!("Host: localhost:{port}\r\nOrigin: https://evil.example\r\n"),
            ),
            403,
        ),
        (
            ask(
                "GET /v1/models",
                &format!("Host: localhost:{port}\r\nSec-Fetch-Site: cross-site\r\n"),
            ),
            403,
        ),
        (ask("GET http://evil.example/v1/models", &format!("Host: localhost:{port}\r\n")), 400),
        (ask("GET http://localhost/v1/models", &format!("Host: localhost:{port}\r\n")), 400),
        (ask("CONNECT localhost:22", &format!("Host: localhost:{port}\r\n")), 400),
        (ask("GET /v1/models", &format!("Host: localhost:{port}\r\nUpgrade: websocket\r\n")), 400),
        (ask("OPTIONS *", &format!("Host: localhost:{port}\r\n")), 400),
        (ask("GET /v1/../../etc/passwd", &format!("Host: localhost:{port}\r\n")), 400),
        (ask("GET /v1/%2e%2e/admin", &format!("Host: localhost:{port}\r\n")), 400),
    ] {
        let answer = exchange(gateway.address, &asked).await;
        assert_eq!(status(&answer), expected, "{asked}\n{answer}");
        assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
    }
    assert!(server.arrived().is_empty(), "{:?}", server.arrived());
    let fine = ask("GET /v1/models", &format!("Host: localhost:{port}\r\n"));
    assert_eq!(status(&exchange(gateway.address, fine).await), 200);
    // As Java's client begins: the offer is not taken up, and not passed on.
    let offer = format!(
        "Host: localhost:{port}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
         HTTP2-Settings: AAEAAEAA\r\n"
    );
    let offer = request(gateway.address, "GET /v1/models", "", "")
        .replace(&format!("Host: {}\r\nConnection: close\r\n", gateway.address), &offer);
    let mut stream = tokio::net::TcpStream::connect(gateway.address).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, offer.as_bytes()).await.unwrap();
    assert_eq!(status(&read_until(&mut stream, "\r\n\r\n").await), 200);
    let headers = server.arrived().pop().unwrap().headers;
    assert!(!headers.contains_key("upgrade") && !headers.contains_key("http2-settings"));
}

#[tokio::test]
async fn lengths_that_leave_a_doubt_are_refused_and_the_next_request_works() {
    let server = ok_server().await;
    let gateway = in_front_of(&server).await;
    for headers in [
        "Content-Length: 2\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding:\tgzip, chunked\r\n",
        "Content-Length: 2,2\r\n",
        "Content-Length: -2\r\n",
    ] {
        let smuggled = format!(
            "POST /v1/files HTTP/1.1\r\nHost: {0}\r\n{headers}\r\n{{}}GET /v1/smuggled HTTP/1.1\r\n\
             Host: {0}\r\n\r\n",
            gateway.address
        );
        let answer = exchange(gateway.address, smuggled).await;
        assert_eq!(status(&answer), 400, "{headers}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    }
    assert!(server.arrived().is_empty(), "{:?}", server.arrived());
    let fine = request(gateway.address, "GET /v1/models", "", "");
    assert_eq!(status(&exchange(gateway.address, fine).await), 200);
}

#[tokio::test]
async fn two_requests_of_one_connection_are_both_looked_at() {
    let server = ok_server().await;
    let gateway = in_front_of(&server).await;
    let address = gateway.address;
    let first =
        format!("POST /v1/files HTTP/1.1\r\nHost: {address}\r\nContent-Length: 2\r\n\r\n{{}}");
    let second = format!(
        "POST /v1/files HTTP/1.1\r\nHost: {address}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{{}}"
    );
    let answer = exchange(address, first.clone() + &first + &second).await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 2, "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 400").count(), 1, "{answer}");
    assert_eq!(server.arrived().len(), 2);
}

#[tokio::test]
async fn only_json_is_taken_where_messages_are_read() {
    let server = ok_server().await;
    let gateway = in_front_of(&server).await;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let sent = http()
            .post(gateway.url("/v1/chat/completions"))
            .header("content-type", kind)
            .body(chat("test-900").to_string());
        let answer = sent.send().await.unwrap();
        assert_eq!(answer.status(), 415);
        let error: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(error["error"]["code"], "not_json");
        assert_eq!(error["error"]["type"], "invalid_request_error");
    }
    assert!(server.arrived().is_empty());
}

#[tokio::test]
async fn whoever_has_no_key_gets_nothing_but_health() {
    let server = ok_server().await;
    let mut config = config(server.url());
    config.upstreams = vec![
        Upstream::new(server.url()).unwrap().key(UpstreamKey::Own(Secret::new("sk-upstream"))),
    ];
    config.keys =
        vec![ClientKey::new("one", Secret::new("one")), ClientKey::new("two", Secret::new("two"))];
    let gateway = Running::start(config).await;
    for (headers, expected) in [
        ("", 401),
        ("Authorization: Bearer three\r\n", 401),
        ("Authorization: Bearer \r\n", 401),
        ("Authorization: Bearer two\r\n", 200),
        ("x-api-key: one\r\n", 200),
        ("x-cupel-key: one\r\n", 200),
        ("x-cupel-key: three\r\nAuthorization: Bearer one\r\n", 401),
    ] {
        let asked = request(gateway.address, "GET /v1/models", headers, "");
        let answer = exchange(gateway.address, asked).await;
        assert_eq!(status(&answer), expected, "{headers}: {answer}");
    }
    for health in ["/health/liveness", "/health/readiness"] {
        let asked = request(gateway.address, &format!("GET {health}"), "", "");
        assert_eq!(status(&exchange(gateway.address, asked).await), 200);
    }
    let seen: Vec<_> = server.arrived().into_iter().map(|one| one.headers).collect();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|headers| headers["authorization"] == "Bearer sk-upstream"));
    assert!(seen.iter().all(|headers| !headers.contains_key("x-api-key")));
}

#[test]
fn a_key_is_not_given_to_everybody() {
    let own = Upstream::new("https://api.openai.com/v1").unwrap();
    let mut config = Config::new(own.key(UpstreamKey::Own(Secret::new("sk-upstream"))));
    assert!(Gateway::new(config.clone()).is_ok());
    config.listen = "0.0.0.0:4141".parse().unwrap();
    let problem = Gateway::new(config.clone()).unwrap_err().to_string();
    assert!(
        problem.starts_with("keys: upstream \"api.openai.com\" has a key of its own"),
        "{problem}"
    );
    config.keys = vec![ClientKey::new("named", Secret::new("one"))];
    let gateway = Gateway::new(config).unwrap();
    let printed = format!("{gateway:?}");
    assert!(!printed.contains("sk-upstream") && !printed.contains("one\""), "{printed}");
}
