//! Metrics, the access log, and keys with limits; and that no key appears anywhere.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::process::{PATIENCE, Process};

/// Keys that no output may have.
const SECRETS: [&str; 4] = ["gate-5ecret", "team-5ecret", "upstream-5ecret", "client-5ecret"];

const HASH: &str = "sha256:d0bd48ba38e8ad0f1e1b98f3d34a4ee2f9a9b14cf6b2b7b0b1b1e9b8a1a5a5a5";

/// An upstream that answers every request with a usage, and has a name for it.
pub(crate) fn upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut request = Vec::new();
                let mut piece = [0; 4_096];
                while !is_whole(&request) {
                    let read = stream.read(&mut piece).unwrap_or_default();
                    if read == 0 {
                        return;
                    }
                    request.extend_from_slice(&piece[..read]);
                }
                let body = json!({"choices": [{"message": {"role": "assistant", "content": "Yes."}}],
                    "usage": {"prompt_tokens": 20, "completion_tokens": 5,
                        "prompt_tokens_details": {"cached_tokens": 8}}});
                let (body, length) = (body.to_string(), body.to_string().len());
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nX-Request-Id: theirs\r\n";
                drop(write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}"));
            });
        }
    });
    url
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.split_once("content-length: ").map_or("0", |(_, rest)| rest);
    body.len() >= length.lines().next().unwrap_or("0").parse().unwrap()
}

/// Sends a request on a connection of its own; returns the whole answer.
pub(crate) fn exchange(address: &str, line: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let head = format!("{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}");
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn chat(gateway: &Process, model: &str, headers: &str) -> String {
    let body = json!({"model": model, "messages": [{"role": "user", "content": "Is 5 odd?"}]});
    let headers = format!("Content-Type: application/json\r\n{headers}");
    exchange(&gateway.address, "POST /v1/chat/completions", &headers, &body.to_string())
}

/// Lines of the access log, once there are so many.
fn lines(gateway: &Process, count: usize) -> Vec<Value> {
    gateway.wait_for("cupel_gateway::access", count);
    let log = gateway.log();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["target"] == "cupel_gateway::access").collect()
}

/// Address of the metrics, as it is logged.
pub(crate) fn metrics_address(gateway: &Process) -> String {
    gateway.wait_for("serving metrics", 1);
    let log = gateway.log();
    let line = log.lines().find(|line| line.contains("serving metrics")).unwrap();
    serde_json::from_str::<Value>(line).unwrap()["address"].as_str().unwrap().to_owned()
}

fn start() -> Process {
    let url = upstream();
    let config = format!(
        r#"
        [[keys]]
        name = "team-a"
        env = "TEAM_KEY"
        models = ["gpt-4o*"]
        requests_per_minute = 3

        [[keys]]
        name = "team-b"
        env = "GATE_KEY"
        routes = ["POST /chat/completions"]
        tokens_per_minute = 30

        [[keys]]
        name = "team-c"
        hash = "{HASH}"

        [[upstreams]]
        name = "only"
        url = "{url}"
        key = {{ env = "UPSTREAM_KEY" }}

        [[sources]]
        name = "manual"
        url = "http://127.0.0.1:1/search"

        [access_log]
        trusted_proxies = ["127.0.0.1"]

        [metrics]
        listen = "127.0.0.1:0"
        "#
    );
    let variables =
        [("TEAM_KEY", SECRETS[1]), ("GATE_KEY", SECRETS[0]), ("UPSTREAM_KEY", SECRETS[2])];
    Process::start(&config, &variables)
}

fn is_without_secrets(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} is in:\n{text}");
    }
}

#[test]
fn a_request_is_one_line_that_says_whose_it_was() {
    let gateway = start();
    let headers = "Authorization: Bearer team-5ecret\r\nX-Request-Id: req-7\r\n\
                   X-Forwarded-For: 198.51.100.7\r\nX-Private: client-5ecret\r\n";
    let answer = chat(&gateway, "gpt-4o", headers).to_lowercase();
    assert!(answer.starts_with("http/1.1 200"), "{answer}");
    // The upstream's own name for the request stays.
    assert!(answer.contains("x-request-id: theirs\r\n"), "{answer}");
    assert!(answer.contains("x-cupel-request-id: req-7\r\n"), "{answer}");
    let line = lines(&gateway, 1).remove(0);
    for (field, expected) in [
        ("request", json!("req-7")),
        ("client", json!("198.51.100.7")),
        ("key", json!("team-a")),
        ("method", json!("POST")),
        ("path", json!("/v1/chat/completions")),
        ("route", json!("chat")),
        ("model", json!("gpt-4o")),
        ("upstream", json!("only")),
        ("status", json!(200)),
        ("outcome", json!("fitted")),
        ("end", json!("complete")),
        ("counted", json!(20)),
        ("cached", json!(8)),
        ("output", json!(5)),
    ] {
        assert_eq!(line[field], expected, "{field}: {line}");
    }
    for field in ["milliseconds", "own_milliseconds", "upstream_milliseconds", "tokens", "bytes"] {
        assert!(line[field].is_number(), "{field}: {line}");
    }
    assert_eq!(line["tenant"].as_str().unwrap().len(), 32);
    assert_eq!(line["report"].as_str().unwrap().len(), 24);

    // A request of the gateway's own naming, with a key in the query.
    let answer = exchange(&gateway.address, "GET /v1/files?key=client-5ecret", "", "");
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    let line = lines(&gateway, 2).remove(1);
    assert_eq!((&line["path"], &line["outcome"]), (&json!("/v1/files"), &json!("invalid_api_key")));
    assert_eq!((&line["status"], &line["client"]), (&json!(401), &json!("127.0.0.1")));
    assert_eq!(line["request"].as_str().unwrap().len(), 24);
    exchange(&gateway.address, "GET /health/liveness", "", "");
    is_without_secrets(&gateway.log());
    assert!(!gateway.log().contains("Is 5 odd"));
}

#[test]
fn a_key_has_limits_models_and_routes() {
    let gateway = start();
    let team = "Authorization: Bearer team-5ecret\r\n";
    let refused = chat(&gateway, "o3", team);
    assert!(
        refused.starts_with("HTTP/1.1 403") && refused.contains("model_not_allowed"),
        "{refused}"
    );
    let batches = exchange(&gateway.address, "POST /v1/batches", team, "");
    assert!(batches.contains("route_not_allowed"), "{batches}");
    assert!(chat(&gateway, "gpt-4o-mini", team).starts_with("HTTP/1.1 200"));
    assert!(chat(&gateway, "gpt-4o", team).starts_with("HTTP/1.1 200"));
    let limited = chat(&gateway, "gpt-4o", team);
    assert!(limited.starts_with("HTTP/1.1 429"), "{limited}");
    assert!(limited.contains("\"type\":\"rate_limit_error\""), "{limited}");
    assert!(limited.contains("\"code\":\"rate_limit_exceeded\""), "{limited}");
    let seconds = limited.split_once("retry-after: ").unwrap().1.lines().next().unwrap();
    assert!((1..=20).contains(&seconds.parse::<u32>().unwrap()), "{limited}");

    // The same limit, in the shape of Anthropic's errors.
    let messages = json!({"model": "gpt-4o", "max_tokens": 9,
        "messages": [{"role": "user", "content": "Is 5 odd?"}]});
    let headers =
        format!("Content-Type: application/json\r\nanthropic-version: 2023-06-01\r\n{team}");
    let limited_too =
        exchange(&gateway.address, "POST /v1/messages", &headers, &messages.to_string());
    assert!(limited_too.starts_with("HTTP/1.1 429"), "{limited_too}");
    assert!(limited_too.contains("retry-after: "), "{limited_too}");
    let (_, body) = limited_too.split_once("\r\n\r\n").unwrap();
    let error: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        (&error["type"], &error["error"]["type"]),
        (&json!("error"), &json!("rate_limit_error"))
    );

    let gate = "x-api-key: gate-5ecret\r\n";
    let route = exchange(&gateway.address, "GET /v1/models", gate, "");
    assert!(route.contains("route_not_allowed"), "{route}");
    // Each takes 25 tokens of 30, as the upstream counts them.
    assert!(chat(&gateway, "gpt-4o", gate).starts_with("HTTP/1.1 200"));
    lines(&gateway, 8);
    assert!(chat(&gateway, "gpt-4o", gate).starts_with("HTTP/1.1 200"));
    lines(&gateway, 9);
    let limited = chat(&gateway, "gpt-4o", gate);
    assert!(limited.contains("30 tokens per minute"), "{limited}");
    for answer in [refused, batches, limited, gateway.log()] {
        is_without_secrets(&answer);
    }
}

#[test]
fn metrics_count_what_happened_and_the_dashboard_names_them() {
    let gateway = start();
    let address = metrics_address(&gateway);
    let team = "Authorization: Bearer team-5ecret\r\n";
    chat(&gateway, "gpt-4o", team);
    chat(&gateway, "o3", team);
    chat(&gateway, "gpt-4o", "Authorization: Bearer client-5ecret\r\n");
    gateway.signal("-HUP");
    gateway.wait_for("configuration reloaded", 1);
    lines(&gateway, 3);
    let text = exchange(&address, "GET /metrics", "", "");
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    for line in [
        "cupel_requests_total{route=\"chat\",status=\"200\"} 1",
        "cupel_requests_total{route=\"chat\",status=\"401\"} 1",
        "cupel_requests_total{route=\"chat\",status=\"403\"} 1",
        "cupel_calls_total{model=\"gpt-4o\",upstream=\"only\",outcome=\"fitted\"} 1",
        "cupel_tokens_counted_total{model=\"gpt-4o\"} 20",
        "cupel_tokens_cached_total{model=\"gpt-4o\"} 8",
        "cupel_tokens_output_total{model=\"gpt-4o\"} 5",
        "cupel_reloads_total{result=\"done\"} 1",
        "cupel_own_seconds_count{route=\"chat\"} 1",
        "cupel_upstream_seconds_count{upstream=\"only\"} 1",
        "cupel_connections 0",
        "cupel_build_info{version=",
    ] {
        assert!(text.contains(line), "{line} is not in:\n{text}");
    }
    is_without_secrets(&text);
    // A configuration with keys where names belong: neither old nor new ones are repeated.
    let bad = "[[keys]]\nenv = \"team 5ecret\"\nhash = \"client-5ecret\"\n[[upstreams]]\n\
               url = \"https://user:upstream-5ecret@a.example/v1\"\nkey = \"client-5ecret\"\n";
    std::fs::write(gateway.file(), bad).unwrap();
    gateway.signal("-HUP");
    gateway.wait_for("configuration not reloaded", 1);
    is_without_secrets(&gateway.log());
    chat(&gateway, "gpt-4o", team);
    chat(&gateway, "gpt-4o", team);
    lines(&gateway, 5);
    let text = exchange(&address, "GET /metrics", "", "");
    for line in [
        "cupel_limited_total{key=\"team-a\",limit=\"requests\"} 1",
        "cupel_sources_total{source=\"manual\",outcome=\"failed\"} 2",
    ] {
        assert!(text.contains(line), "{line} is not in:\n{text}");
    }
    let elsewhere = exchange(&address, "GET /", "", "");
    assert!(elsewhere.starts_with("HTTP/1.1 404"), "{elsewhere}");
    // A page in a browser that reaches loopback by a name of its own.
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 421"), "{answer}");
    // The usual address has none, and asks no upstream for them.
    let here = exchange(&gateway.address, "GET /metrics", team, "");
    assert!(here.starts_with("HTTP/1.1 404") && here.contains("no_metrics_here"), "{here}");

    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/dashboards/gateway.json");
    let board: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let exprs: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(exprs.len() > 20);
    for expr in exprs {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let names = expr.split(|character| !is_part(character));
        let names: Vec<&str> = names.filter(|name| name.starts_with("cupel_")).collect();
        assert!(!names.is_empty(), "{expr}");
        for name in names {
            let is_known = ["", "_total", "_bucket", "_info"].into_iter().any(|end| {
                let base = name.strip_suffix(end);
                base.is_some_and(|base| text.contains(&format!("# TYPE {base} ")))
            });
            assert!(is_known, "{name} of {expr:?} is not exported");
        }
    }
}

#[test]
fn nothing_listens_for_metrics_unless_it_is_told_to() {
    let gateway = Process::start(&format!("[[upstreams]]\nurl = \"{}\"\n", upstream()), &[]);
    let answer = exchange(&gateway.address, "GET /metrics", "", "");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    gateway.signal("-USR1");
    gateway.wait_for("SIGUSR1", 1);
    assert!(!gateway.log().contains("serving metrics"));
}
