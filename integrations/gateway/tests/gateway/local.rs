//! Servers of local models: windows that they tell, counts that they give, and requests that they refuse.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cupel::tokens::Encoding;
use cupel_gateway::{Config, CountMethod, ModelRule, Secret, Upstream};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::local_stand_in::{Kind, StandIn, tokens};
use crate::page;
use crate::raw::{RawUpstream, read_request};
use crate::support::{PATIENCE, Running, chat, conversation, http};

/// In front of this address, with an estimate that is far too low for the stand-ins.
fn config(server: &StandIn) -> Config {
    let mut config = Config::new(Upstream::new(&*server.url).unwrap());
    config.models =
        vec![ModelRule::new("m").window(1_500).count(CountMethod::Exactly(Encoding::O200k))];
    config
}

async fn post(gateway: &Running, path: &str, body: &Value) -> reqwest::Response {
    let request = http().post(gateway.url(path)).header("content-type", "application/json");
    let sent = request.body(body.to_string()).send();
    tokio::time::timeout(PATIENCE, sent).await.unwrap().unwrap()
}

/// The same conversation in each protocol.
fn requests(model: &str) -> [(&'static str, Value); 3] {
    let texts: Vec<Value> = conversation()
        .into_iter()
        .filter(|message| ["user", "assistant"].contains(&message["role"].as_str().unwrap()))
        .filter(|message| message["content"].is_string())
        .map(|message| {
            let text =
                format!("{} {}", message["content"].as_str().unwrap(), "It is late. ".repeat(24));
            json!({"role": message["role"], "content": text})
        })
        .collect();
    [
        ("/v1/chat/completions", chat(model)),
        ("/v1/responses", json!({"model": model, "max_output_tokens": 50, "input": texts})),
        ("/v1/messages", json!({"model": model, "max_tokens": 50, "messages": texts})),
    ]
}

#[tokio::test]
async fn a_request_that_the_server_refuses_as_too_long_is_sent_again_shorter() {
    use Kind::{Anthropic, LlamaCpp, Ollama, OpenAi, Vllm, VllmThatStops};
    for kind in [LlamaCpp, Vllm, VllmThatStops, Ollama, OpenAi, Anthropic] {
        let server = StandIn::start(kind, 1_500).await;
        let mut config = config(&server);
        // These do not say how much it is too long, so it is made a quarter shorter.
        let is_silent = [VllmThatStops, Ollama].contains(&kind);
        let factor = if is_silent { 1.3 } else { 0.7 };
        let rule = config.models.remove(0);
        config.models.push(rule.factor(factor));
        let gateway = Running::start(config).await;
        let requests = requests("m").into_iter();
        for (path, body) in requests.take(if is_silent { 1 } else { 3 }) {
            let answer = post(&gateway, path, &body).await;
            assert_eq!(answer.status(), 200, "{kind:?} {path}");
            assert!(answer.headers().contains_key("x-cupel-tokens"));
            let arrived = server.take_arrived();
            let sizes: Vec<i64> = arrived.iter().map(|(_, tokens)| *tokens).collect();
            let [first, second] = sizes[..] else { panic!("{kind:?} {path}: {sizes:?}") };
            assert!(first > 1_450 && second <= 1_450, "{kind:?} {path}: {sizes:?}");
            assert!(second > 700, "{kind:?} {path}: {sizes:?}");
        }
    }
}

#[tokio::test]
async fn a_server_with_a_smaller_window_than_configured_gets_what_fits_there() {
    let server = StandIn::start(Kind::LlamaCpp, 1_000).await;
    let mut wrong = config(&server);
    wrong.models = vec![ModelRule::new("m").window(3_000).factor(2.2)];
    let gateway = Running::start(wrong).await;
    let answer = post(&gateway, "/v1/chat/completions", &chat("m")).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(server.take_paths().len(), 2);
}

/// A server that refuses everything in the same words.
async fn refusing(status: u16, answer: String) -> RawUpstream {
    RawUpstream::start(move |mut stream| {
        let answer = answer.clone();
        async move {
            read_request(&mut stream).await;
            let head = format!(
                "HTTP/1.1 {status} X\r\nConnection: close\r\nX-Try: 1\r\nContent-Length: {}",
                answer.len()
            );
            stream.write_all(format!("{head}\r\n\r\n{answer}").as_bytes()).await.unwrap();
        }
    })
    .await
}

#[tokio::test]
async fn a_refusal_passes_unchanged_if_there_is_nothing_to_shorten_or_it_is_the_second() {
    let long = json!({"error": {"message": "prompt is too long: 9000 tokens > 1500 maximum"}});
    let padded = format!("{}{}", long, " ".repeat(200_000));
    let other =
        json!({"error": {"message": "roles must alternate", "code": "invalid_request_error"}});
    for (status, refusal) in [
        (400, long.to_string()),
        (413, long.to_string()),
        // Longer than any known refusal: it is not read to its end.
        (400, padded),
        (400, other.to_string()),
        (400, String::new()),
        (500, long.to_string()),
    ] {
        let server = refusing(status, refusal.clone()).await;
        let mut config = Config::new(Upstream::new(&*server.url).unwrap());
        config.models =
            vec![ModelRule::new("m").window(1_500).count(CountMethod::Exactly(Encoding::O200k))];
        let gateway = Running::start(config).await;
        let short = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
        for body in [&chat("m"), &short] {
            let answer = post(&gateway, "/v1/chat/completions", body).await;
            assert_eq!(answer.status(), status);
            assert_eq!(answer.headers()["x-try"], "1");
            assert_eq!(answer.text().await.unwrap(), refusal);
        }
    }
}

#[tokio::test]
async fn if_the_second_request_gets_no_answer_the_client_gets_the_first() {
    let refusal = json!({"error": {"message": "prompt is too long: 1900 tokens > 1500 maximum"}});
    let (refusal, served) = (refusal.to_string(), Arc::new(AtomicUsize::new(0)));
    let (answer, count) = (refusal.clone(), Arc::clone(&served));
    let server = RawUpstream::start(move |mut stream| {
        let (answer, count) = (answer.clone(), Arc::clone(&count));
        async move {
            read_request(&mut stream).await;
            // The second connection is closed without a word.
            if count.fetch_add(1, Ordering::SeqCst) == 0 {
                let head = "HTTP/1.1 400 X\r\nConnection: close\r\nContent-Length:";
                let answer = format!("{head} {}\r\n\r\n{answer}", answer.len());
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    let mut config = Config::new(Upstream::new(&*server.url).unwrap());
    let count = CountMethod::Exactly(Encoding::O200k);
    config.models = vec![ModelRule::new("m").window(1_500).count(count)];
    let gateway = Running::start(config).await;
    let answer = post(&gateway, "/v1/chat/completions", &chat("m")).await;
    assert_eq!(answer.status(), 400);
    assert_eq!(answer.text().await.unwrap(), refusal);
    assert_eq!(served.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn what_was_sent_unchanged_is_not_sent_twice() {
    let server = StandIn::start(Kind::LlamaCpp, 500).await;
    let gateway = Running::start(config(&server)).await;
    let request = http().post(gateway.url("/v1/chat/completions"));
    let request = request.header("content-type", "application/json").header("x-cupel-bypass", "1");
    let answer = request.body(chat("m").to_string()).send().await.unwrap();
    assert_eq!(answer.status(), 400);
    assert_eq!(server.take_paths().len(), 1);
}

#[tokio::test]
async fn the_count_of_a_refusal_is_shown_on_the_page() {
    let server = StandIn::start(Kind::LlamaCpp, 1_500).await;
    let mut config = config(&server);
    config.page.token = Some(Secret::new(page::TOKEN));
    let gateway = Running::start(config).await;
    let answer = post(&gateway, "/v1/chat/completions", &chat("m")).await;
    assert_eq!(answer.status(), 200);
    answer.text().await.unwrap();
    let page = page::data(&gateway).await;
    let ends: Vec<&Value> =
        page["calls"].as_array().unwrap().iter().map(|call| &call["end"]).collect();
    assert_eq!(ends, ["complete", "too_long"], "{page}");
    // The refused request and the answered one.
    assert_eq!(page["ratios"][0]["calls"], 2, "{page}");
}

#[tokio::test]
async fn the_window_of_an_unknown_model_comes_from_its_server() {
    use Kind::{LlamaCpp, OldLlamaCpp, Ollama, Vllm};
    for (kind, asked) in [
        (LlamaCpp, &["/v1/models"][..]),
        (Vllm, &["/v1/models"]),
        (OldLlamaCpp, &["/v1/models", "/props"]),
        (Ollama, &["/v1/models", "/props", "/api/ps"]),
    ] {
        let server = StandIn::start(kind, 3_000).await;
        let gateway = Running::start(Config::new(Upstream::new(&*server.url).unwrap())).await;
        for turn in 0..3 {
            let mut body = chat("qwen3");
            let messages = body["messages"].as_array_mut().unwrap();
            messages.extend(conversation().split_off(1));
            let answer = post(&gateway, "/v1/chat/completions", &body).await;
            assert!(answer.headers().contains_key("x-cupel-tokens"), "{kind:?}");
            let paths = server.take_paths();
            let others: Vec<&String> =
                paths.iter().filter(|path| !path.contains("completions")).collect();
            let expected = if turn == 0 { asked } else { &[] };
            assert_eq!(others, expected, "{kind:?}, turn {turn}");
        }
    }
}

#[tokio::test]
async fn a_server_that_was_not_ready_is_asked_again_with_the_next_request() {
    let is_loaded = Arc::new(AtomicBool::new(false));
    let state = Arc::clone(&is_loaded);
    let server = RawUpstream::start(move |mut stream| {
        let state = Arc::clone(&state);
        async move {
            read_request(&mut stream).await;
            let (status, body) = match state.load(Ordering::SeqCst) {
                false => (503, json!({"error": {"message": "Loading model"}})),
                true => (200, json!({"data": [{"id": "m.gguf", "meta": {"n_ctx": 1500}}]})),
            };
            let body = body.to_string();
            let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length:");
            let answer = format!("{head} {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    })
    .await;
    let gateway = Running::start(Config::new(Upstream::new(&*server.url).unwrap())).await;
    let answer = post(&gateway, "/v1/chat/completions", &chat("qwen3")).await;
    assert!(answer.headers().contains_key("x-cupel-passed"), "{answer:?}");
    is_loaded.store(true, Ordering::SeqCst);
    let answer = post(&gateway, "/v1/chat/completions", &chat("qwen3")).await;
    let tokens: i64 = answer.headers()["x-cupel-tokens"].to_str().unwrap().parse().unwrap();
    assert!(tokens <= 1_500, "{tokens}");
}

/// A server that counts next to nothing for tools, as those whose template does not show them.
#[tokio::test]
async fn tools_that_are_too_long_by_our_count_alone_do_not_keep_a_request_from_being_fitted() {
    let server = StandIn::start(Kind::LlamaCpp, 1_500).await;
    let mut config = config(&server);
    config.exact_from = Some(0.8);
    let rule = ModelRule::new("m").window(1_500).count(CountMethod::Exactly(Encoding::O200k));
    // Three tokens of ours for one of the server's: instructions and tools alone are too long.
    config.models = vec![rule.factor(3.0)];
    let mut body = chat("m");
    let system = json!({"role": "system", "content": "Answer in one sentence. ".repeat(110)});
    body["messages"].as_array_mut().unwrap().insert(0, system);
    let gateway = Running::start(config.clone()).await;
    let answer = post(&gateway, "/v1/chat/completions", &body).await;
    assert_eq!(answer.status(), 200, "{:?}", answer.headers());
    assert!(answer.headers().contains_key("x-cupel-tokens"), "{:?}", answer.headers());
    let sent = server.take_arrived().into_iter().rfind(|(path, _)| !path.contains("input_tokens"));
    assert!(sent.is_some_and(|(_, tokens)| tokens <= 1_450));
    // What is too long by the server's count as well is passed with the reason.
    let system = json!({"role": "system", "content": "Answer in one sentence. ".repeat(400)});
    body["messages"][0] = system;
    let answer = post(&gateway, "/v1/chat/completions", &body).await;
    let why = answer.headers()["x-cupel-passed"].to_str().unwrap();
    assert!(why.starts_with("FixedTokens") || why.starts_with("Pinned"), "{why}");
}

#[tokio::test]
async fn what_is_cut_begins_with_the_user() {
    let server = StandIn::start(Kind::LlamaCpp, 1_500).await;
    let gateway = Running::start(config(&server)).await;
    let full = chat("m");
    let messages = full["messages"].as_array().unwrap();
    let mut cut = 0;
    for known in (3..messages.len()).filter(|at| messages[*at]["role"] == "assistant") {
        let mut body = full.clone();
        body["messages"] = json!(messages[..known]);
        let answer = post(&gateway, "/v1/chat/completions", &body).await;
        assert_eq!(answer.status(), 200);
        let sent = server.last_body();
        let sent = sent["messages"].as_array().unwrap();
        cut += usize::from(sent.len() < known);
        let first = sent.iter().find(|message| message["role"] != "system").unwrap();
        assert_eq!(first["role"], "user", "{known} messages");
        assert!(sent.iter().all(|message| !message["content"].is_array()), "strings stay strings");
    }
    assert!(cut > 0);
}

#[tokio::test]
async fn an_open_model_of_the_table_has_the_window_of_its_server() {
    let server = StandIn::start(Kind::LlamaCpp, 2_000).await;
    let gateway = Running::start(Config::new(Upstream::new(&*server.url).unwrap())).await;
    let answer = post(&gateway, "/v1/chat/completions", &chat("gpt-oss-20b")).await;
    let tokens: i64 = answer.headers()["x-cupel-tokens"].to_str().unwrap().parse().unwrap();
    assert!(tokens < 1_500, "{tokens}");
    assert_eq!(server.take_paths()[0], "/v1/models");
    let mut set = Config::new(Upstream::new(&*server.url).unwrap());
    set.unknown_window = Some(900);
    let gateway = Running::start(set).await;
    let answer = post(&gateway, "/v1/chat/completions", &chat("gpt-oss-20b")).await;
    let tokens: i64 = answer.headers()["x-cupel-tokens"].to_str().unwrap().parse().unwrap();
    assert!(tokens < 850, "{tokens}");
    assert!(!server.take_paths().contains(&"/v1/models".to_owned()));
}

#[tokio::test]
async fn a_window_or_a_limit_acts_alone() {
    // This server tells nothing.
    let server = StandIn::start(Kind::OpenAi, 100_000).await;
    let nothing = Config::new(Upstream::new(&*server.url).unwrap());
    let gateway = Running::start(nothing.clone()).await;
    let answer = post(&gateway, "/v1/chat/completions", &chat("qwen3")).await;
    let said = answer.headers()["x-cupel-passed"].to_str().unwrap().to_owned();
    assert!(said.contains("--window"), "{said}");
    type Set = fn(&mut Config);
    let settings: [Set; 3] = [
        |config| config.window = Some(900),
        |config| config.at_most = Some(900),
        |config| config.unknown_window = Some(900),
    ];
    for (index, set) in settings.into_iter().enumerate() {
        let mut config = nothing.clone();
        set(&mut config);
        let gateway = Running::start(config).await;
        let answer = post(&gateway, "/v1/chat/completions", &chat("qwen3")).await;
        let tokens = answer.headers()["x-cupel-tokens"].to_str().unwrap();
        assert!(tokens.parse::<i64>().unwrap() < 900, "{index}: {tokens}");
    }
    // The window is for models of the table, too.
    let mut config = nothing;
    config.window = Some(900);
    let gateway = Running::start(config).await;
    let answer = post(&gateway, "/v1/chat/completions", &chat("gpt-4o")).await;
    let tokens = answer.headers()["x-cupel-tokens"].to_str().unwrap();
    assert!(tokens.parse::<i64>().unwrap() < 900, "{tokens}");
}

#[tokio::test]
async fn the_server_counts_in_every_protocol_and_what_it_gets_fits() {
    use Kind::{Anthropic, LlamaCpp, OldLlamaCpp, OpenAi, Vllm};
    const CHAT: &str = "/v1/chat/completions";
    for (kind, path, route) in [
        (LlamaCpp, CHAT, "/v1/chat/completions/input_tokens"),
        (LlamaCpp, "/v1/responses", "/v1/responses/input_tokens"),
        (LlamaCpp, "/v1/messages", "/v1/messages/count_tokens"),
        (Vllm, CHAT, "/tokenize"),
        (OldLlamaCpp, CHAT, "/apply-template"),
        (OpenAi, "/v1/responses", "/v1/responses/input_tokens"),
        (Anthropic, "/v1/messages", "/v1/messages/count_tokens"),
    ] {
        let server = StandIn::start(kind, 1_500).await;
        // By turns an estimate that is too low, and one that is too high.
        for factor in [1.0, 4.0] {
            let mut config = config(&server);
            config.models = vec![
                ModelRule::new("m")
                    .window(1_500)
                    .count(CountMethod::Exactly(Encoding::O200k))
                    .factor(factor),
            ];
            config.exact_from = Some(0.5);
            let gateway = Running::start(config).await;
            let (_, body) = requests("m").into_iter().find(|(one, _)| *one == path).unwrap();
            let answer = post(&gateway, path, &body).await;
            assert_eq!(answer.status(), 200, "{kind:?} {path}");
            let arrived = server.take_arrived();
            assert!(arrived.iter().any(|(path, _)| path == route), "{kind:?}: {arrived:?}");
            let sent: Vec<&(String, i64)> =
                arrived.iter().filter(|(arrived, _)| arrived == path).collect();
            let [(_, sent)] = sent[..] else { panic!("{kind:?}: refused: {arrived:?}") };
            assert!((900..=1_450).contains(sent), "{kind:?} {path} {factor}: {arrived:?}");
        }
    }
}

#[tokio::test]
async fn a_request_that_is_far_from_the_window_is_not_counted() {
    let server = StandIn::start(Kind::LlamaCpp, 1_500).await;
    let mut config = config(&server);
    config.exact_from = Some(0.5);
    let gateway = Running::start(config).await;
    let short = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    post(&gateway, "/v1/chat/completions", &short).await;
    assert_eq!(server.take_paths(), ["/v1/chat/completions"]);
}

#[tokio::test]
async fn a_server_that_does_not_count_is_not_asked_again_at_once() {
    // Ollama has none of the routes.
    let server = StandIn::start(Kind::Ollama, 100_000).await;
    let mut config = config(&server);
    config.exact_from = Some(0.5);
    let gateway = Running::start(config).await;
    for turn in 0..3 {
        let answer = post(&gateway, "/v1/chat/completions", &chat("m")).await;
        assert!(answer.headers().contains_key("x-cupel-tokens"));
        let expected = if turn == 0 { 4 } else { 1 };
        assert_eq!(server.take_paths().len(), expected, "turn {turn}");
    }
}

/// A server whose counting hangs: only the first call waits for it, and not for long.
#[tokio::test]
async fn a_count_that_does_not_come_is_waited_for_once() {
    let upstream = RawUpstream::start(|mut stream| async move {
        let (head, _) = read_request(&mut stream).await;
        if head.contains("input_tokens") {
            std::future::pending::<()>().await;
        }
        let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let mut config = Config::new(Upstream::new(&*upstream.url).unwrap());
    config.models =
        vec![ModelRule::new("m").window(1_500).count(CountMethod::Exactly(Encoding::O200k))];
    config.exact_from = Some(0.5);
    config.limits.count_time = std::time::Duration::from_millis(50);
    let gateway = Running::start(config).await;
    for _ in 0..3 {
        let answer = post(&gateway, "/v1/chat/completions", &chat("m")).await;
        assert_eq!(answer.status(), 200);
    }
    assert!(tokens(&chat("m")) > 1_500);
}
