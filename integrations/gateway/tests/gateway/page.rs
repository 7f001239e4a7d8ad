//! The page of recent calls: who sees it, and what.

use cupel_gateway::{Config, Secret};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::raw::{exchange, read_until, request, status};
use crate::support::{Running, chat, config, http, ok_server};
use cupel_dev_servers::local_server::LocalServer;

pub(crate) const TOKEN: &str = "the-token-of-the-page";

fn with_page(server: &LocalServer) -> Config {
    let mut config = config(server.url());
    config.page.token = Some(Secret::new(TOKEN));
    config
}

async fn get(gateway: &Running, path: &str, cookie: &str) -> String {
    let asked = request(gateway.address, &format!("GET {path}"), cookie, "");
    exchange(gateway.address, asked).await
}

/// Logs in; the header that shows it.
async fn cookie(gateway: &Running) -> String {
    let form = format!("token={TOKEN}");
    let own = format!("Origin: http://{}\r\n", gateway.address);
    let asked = request(gateway.address, "POST /cupel/login", &own, &form);
    let answer = exchange(gateway.address, asked).await;
    assert_eq!(status(&answer), 303, "{answer}");
    let set = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    for expected in ["HttpOnly", "SameSite=Strict", "Path=/cupel/"] {
        assert!(set.contains(expected), "{set}");
    }
    format!("Cookie: {}\r\n", set.split(';').next().unwrap())
}

/// Data of the page, of a gateway with the token of these tests.
pub(crate) async fn data(gateway: &Running) -> Value {
    let cookie = cookie(gateway).await;
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let asked = request(gateway.address, "GET /cupel/events", &cookie, "");
    stream.write_all(asked.as_bytes()).await.unwrap();
    let read = read_until(&mut stream, "}\n\n").await;
    let (_, event) = read.split_once("data: ").unwrap();
    serde_json::from_str(event.trim()).unwrap()
}

async fn call(gateway: &Running, conversation: &str) -> String {
    let sent = http()
        .post(gateway.url("/v1/chat/completions"))
        .header("content-type", "application/json")
        .header("authorization", "Bearer sk-secret")
        .header("x-cupel-conversation", conversation)
        .body(chat("test-900").to_string());
    let answer = sent.send().await.unwrap();
    answer.headers()["x-cupel-report"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn nobody_sees_anything_without_the_token() {
    let server = ok_server().await;
    let gateway = Running::start(with_page(&server)).await;
    let id = call(&gateway, "a").await;
    let wrong = format!("Cookie: cupel_page={TOKEN}\r\n");
    // The cookie is not for this one, so it leads to where it is.
    let answer = get(&gateway, "/cupel", "").await;
    assert_eq!(status(&answer), 303, "{answer}");
    assert!(answer.contains("location: /cupel/\r\n"), "{answer}");
    for path in [
        "/cupel/",
        "/cupel/events",
        &format!("/cupel/call/{id}"),
        "/cupel/?token=the-token-of-the-page",
    ] {
        for cookie in ["", "Cookie: cupel_page=\r\n", &wrong] {
            let answer = get(&gateway, path, cookie).await;
            assert_eq!(status(&answer), 401, "{path}: {answer}");
            assert!(!answer.contains("order 3") && !answer.contains(&id), "{path}: {answer}");
        }
    }
    let tried = request(gateway.address, "POST /cupel/login", "", "token=wrong");
    let answer = exchange(gateway.address, tried).await;
    assert_eq!(status(&answer), 401);
    assert!(!answer.contains("set-cookie"));
}

#[tokio::test]
async fn whoever_has_the_token_sees_calls_and_what_changed_since_the_one_before() {
    let server = ok_server().await;
    let gateway = Running::start(with_page(&server)).await;
    let first = call(&gateway, "a").await;
    let other = call(&gateway, "b").await;
    let second = call(&gateway, "a").await;
    let cookie = cookie(&gateway).await;

    let list = get(&gateway, "/cupel/", &cookie).await;
    assert_eq!(status(&list), 200);
    for header in [
        "content-security-policy: default-src 'none'",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
    ] {
        assert!(list.contains(header), "{header}: {list}");
    }
    assert!(!list.contains("unsafe-inline"));

    let page = get(&gateway, &format!("/cupel/call/{second}"), &cookie).await;
    assert_eq!(status(&page), 200);
    assert!(page.contains("And when did order 3 leave?"), "{page}");
    let alone = get(&gateway, &format!("/cupel/call/{other}"), &cookie).await;
    // One has a call before it in its conversation, the other has not.
    assert_ne!(page.len(), alone.len());
    assert_eq!(status(&get(&gateway, &format!("/cupel/call/{first}"), &cookie).await), 200);
    assert_eq!(status(&get(&gateway, "/cupel/call/none", &cookie).await), 404);
    assert!(!page.contains("sk-secret") && !list.contains("sk-secret"));

    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let asked = request(gateway.address, "GET /cupel/events", &cookie, "");
    stream.write_all(asked.as_bytes()).await.unwrap();
    let data = next_event(&mut stream).await;
    let calls = data["calls"].as_array().unwrap();
    assert_eq!(calls[0]["id"], second.as_str());
    assert_eq!(calls.len(), 3);
    assert_eq!(data["totals"]["calls"], 3);
    assert_eq!(calls[0]["counted"], calls[0]["tokens"], "the stand-in counts as we do");
    assert_eq!(calls[0]["cached"], calls[0]["tokens"], "the same request as before");
    let cached = calls.iter().map(|call| call["cached"].as_i64().unwrap()).sum::<i64>();
    assert_eq!(data["totals"]["expected_cached"], cached);
    assert_eq!(data["ratios"][0]["factor"], 1.0);
    assert!(data["totals"]["dropped"].as_i64().unwrap() > 0);
    // What was saved against sending everything, and against newest-first trimming.
    let total = |name: &str| data["totals"][name].as_f64().unwrap();
    assert!(total("original_bytes") > total("sent_bytes") && total("sent_bytes") > 0.0);
    assert!(total("newest_first_cost") > 0.0 && total("cost") > 0.0);
    assert!(calls[0]["milliseconds"].as_f64().unwrap() > 0.0, "durations have fractions");
    // It is live: a call that is made now shows without asking again.
    call(&gateway, "c").await;
    while next_event(&mut stream).await["totals"]["calls"] != 4 {}
}

/// Next event of the page.
async fn next_event(stream: &mut TcpStream) -> Value {
    let event = read_until(stream, "\n\n").await;
    serde_json::from_str(event.split_once("data: ").unwrap().1).unwrap()
}

#[tokio::test]
async fn nothing_can_be_changed_from_it() {
    let server = ok_server().await;
    let gateway = Running::start(with_page(&server)).await;
    let cookie = cookie(&gateway).await;
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let asked = request(gateway.address, &format!("{method} /cupel/"), &cookie, "");
        assert_eq!(status(&exchange(gateway.address, asked).await), 405, "{method}");
    }
    let evil = format!("{cookie}Origin: http://evil.example\r\n");
    assert_eq!(status(&get(&gateway, "/cupel/", &evil).await), 403);
    let none = Running::start(config(server.url())).await;
    assert_eq!(status(&get(&none, "/cupel/", "").await), 404);
}

#[tokio::test]
async fn who_guesses_tokens_has_to_wait() {
    let server = ok_server().await;
    let gateway = Running::start(with_page(&server)).await;
    let guess = request(gateway.address, "POST /cupel/login", "", "token=guess");
    for expected in [[401; 10].as_slice(), &[429]].concat() {
        let answer = exchange(gateway.address, guess.as_str()).await;
        assert_eq!(status(&answer), expected, "{answer}");
    }
}
