//! Anthropic's Messages through the gateway, to a stand-in as strict as the API.

use std::sync::{Arc, Mutex};

use cupel_gateway::{Config, ModelRule, Secret, Upstream, UpstreamKey};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

use crate::raw::{RawUpstream, read_request};
use crate::support::{Running, http, ok_server};
use cupel_dev_servers::local_server::LocalServer;
use cupel_dev_servers::local_server::answer::Reply;
use cupel_dev_servers::local_server::messages::thoughts;

fn config(server: &LocalServer) -> Config {
    let mut config = Config::new(Upstream::new(server.url()).unwrap());
    // The one binds thoughts to what stood before them.
    config.models = vec![
        ModelRule::new("test-2600").window(2_600),
        ModelRule::new("claude-opus-5-5").at_most(2_600),
    ];
    config
}

async fn post(gateway: &Running, path: &str, body: &Value) -> reqwest::Response {
    let request = http()
        .post(gateway.url(path))
        .header("content-type", "application/json")
        .header("anthropic-version", "2023-06-01")
        .header("x-api-key", "sk-ant-1");
    request.body(body.to_string()).send().await.unwrap()
}

async fn json_of(answer: reqwest::Response) -> Value {
    serde_json::from_str(&answer.text().await.unwrap()).unwrap()
}

/// A conversation with a tool that does not fit, whose last message asks something.
fn request(model: &str) -> Value {
    let mut messages = Vec::new();
    for turn in 0..16 {
        let id = format!("toolu_{turn}");
        messages.extend([
            json!({"role": "user", "content": format!("Where is order {turn}?")}),
            json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": id, "name": "look_up", "input": {"order": turn}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id,
                "content": format!("order {turn} left on day {turn}; {}", "it passed another station. ".repeat(16))}]}),
            json!({"role": "assistant", "content": format!("Order {turn} is on its way.")}),
        ]);
    }
    messages.push(json!({"role": "user", "content": "When did order 3 leave?"}));
    json!({"model": model, "max_tokens": 100, "system": "You help with orders.",
        "tools": [{"name": "look_up", "input_schema": {"type": "object"}}], "messages": messages})
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_fitted_and_taken() {
    let server = ok_server().await;
    let gateway = Running::start(config(&server)).await;
    for path in ["/v1/messages", "/messages"] {
        let answer = post(&gateway, path, &request("test-2600")).await;
        assert_eq!(answer.status(), 200);
        assert!(answer.headers().contains_key("x-cupel-tokens"));
        let answer = json_of(answer).await;
        assert_eq!(answer["content"][0]["text"], "ok");
        let arrived = server.take_arrived().remove(0);
        assert_eq!(arrived.refused, None);
        assert_eq!(arrived.headers["x-api-key"], "sk-ant-1");
        assert_eq!(arrived.headers["anthropic-version"], "2023-06-01");
    }
    let direct = http().post(format!("{}/messages", server.url()));
    let direct = direct.header("content-type", "application/json");
    let direct = direct.body(request("test-2600").to_string()).send().await.unwrap();
    assert_eq!(direct.status(), 400);
}

#[tokio::test]
async fn streamed_events_pass_unchanged() {
    let server = ok_server().await;
    let gateway = Running::start(config(&server)).await;
    let mut short = json!({"model": "test-2600", "max_tokens": 9, "stream": true,
        "messages": [{"role": "user", "content": "Hi"}]});
    let through = post(&gateway, "/v1/messages", &short).await.text().await.unwrap();
    let direct = http().post(format!("{}/messages", server.url()));
    let direct = direct.header("content-type", "application/json").body(short.to_string());
    let direct = direct.send().await.unwrap().text().await.unwrap();
    let without_id = |events: String| events.replace("msg_1", "msg_0");
    assert_eq!(without_id(through.clone()), without_id(direct));
    assert!(through.contains("event: message_stop"));
    short["stream"] = json!(false);
    assert_eq!(server.take_arrived().len(), 2);
}

#[tokio::test]
async fn errors_have_the_protocols_shape() {
    let server =
        LocalServer::start(|_| async { Reply::Status(529, "Overloaded".to_owned()) }).await;
    let mut closed = config(&server);
    closed.fail_closed = true;
    closed.limits.messages = 70;
    let gateway = Running::start(closed).await;
    let unknown = json_of(
        post(
            &gateway,
            "/v1/messages",
            &json!({"model": "claude-99", "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hi"}]}),
        )
        .await,
    )
    .await;
    assert_eq!(
        (&unknown["type"], &unknown["error"]["type"]),
        (&json!("error"), &json!("invalid_request_error"))
    );
    assert!(unknown["error"]["message"].as_str().unwrap().contains("claude-99"), "{unknown}");
    let mut long = request("test-2600");
    let more = long["messages"].as_array().unwrap().clone();
    long["messages"].as_array_mut().unwrap().extend(more);
    let answer = post(&gateway, "/v1/messages", &long).await;
    assert_eq!(answer.status(), 400);
    assert!(
        json_of(answer).await["error"]["message"].as_str().unwrap().contains("too_many_messages")
    );
    // What the upstream says passes as it is.
    let busy = post(
        &gateway,
        "/v1/messages",
        &json!({"model": "test-2600", "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hi"}]}),
    )
    .await;
    assert_eq!(busy.status(), 529);
    assert_eq!(json_of(busy).await["error"]["type"], "overloaded_error");
}

#[tokio::test]
async fn counts_go_to_the_upstream_of_the_model() {
    let (other, server) = (ok_server().await, ok_server().await);
    let mut config = Config::new(Upstream::new(other.url()).unwrap());
    let own = Upstream::new(server.url()).unwrap().name("claude").models(["test-*"]);
    config.upstreams.push(own.key(UpstreamKey::Own(Secret::new("sk-gateway"))));
    let gateway = Running::start(config).await;
    let mut question = request("test-2600");
    question.as_object_mut().unwrap().remove("max_tokens");
    let answer = post(&gateway, "/v1/messages/count_tokens", &question).await;
    assert_eq!(answer.status(), 200);
    assert!(json_of(answer).await["input_tokens"].as_i64().unwrap() > 1_000);
    assert_eq!(other.take_arrived().len(), 0);
    let arrived = server.take_arrived().remove(0);
    assert_eq!(arrived.body, question.to_string().as_bytes());
    assert_eq!(arrived.headers["x-api-key"], "sk-gateway");
    assert!(!arrived.headers.contains_key("authorization"));
}

#[tokio::test]
async fn thoughts_that_lost_their_words_are_left_out_by_the_api_and_the_header_says_so() {
    let server = ok_server().await;
    let gateway = Running::start(config(&server)).await;
    let mut body = request("claude-opus-5-5");
    let thought = thoughts::think(&json!({"messages": []}), "Hm.", None);
    let last = body["messages"].as_array().unwrap().len() - 2;
    body["messages"][last]["content"] = json!([thought, {"type": "text", "text": "On its way."}]);
    let answer = post(&gateway, "/v1/messages", &body).await;
    assert_eq!(answer.status(), 200);
    let arrived = server.take_arrived().remove(0);
    assert_eq!(arrived.refused, None);
    assert_eq!(arrived.headers["anthropic-beta"], cupel_json::BINDING_BETA);
}

#[tokio::test]
async fn close_to_the_window_the_model_is_asked_for_its_own_count() {
    let server = ok_server().await;
    // The gateway is told that this model's tokens are far fewer than they are.
    let mut wrong = config(&server);
    wrong.models = vec![ModelRule::new("test-2600").window(2_600).factor(0.6)];
    let unaware = Running::start(wrong.clone()).await;
    post(&unaware, "/v1/messages", &request("test-2600")).await;
    assert!(server.take_arrived()[0].refused.is_some());
    wrong.exact_from = Some(0.5);
    let asks = Running::start(wrong).await;
    let answer = post(&asks, "/v1/messages", &request("test-2600")).await;
    assert_eq!(answer.status(), 200);
    let arrived = server.take_arrived();
    let paths: Vec<&str> = arrived.iter().map(|arrived| arrived.path.as_str()).collect();
    // What was fitted anew is counted anew.
    assert_eq!(paths, ["/messages/count_tokens", "/messages/count_tokens", "/messages"]);
    assert!(arrived.iter().all(|arrived| arrived.refused.is_none()));
}

/// A model that counts more than anybody could expect, and then a little more once again.
#[tokio::test]
async fn what_is_still_over_the_window_when_it_is_counted_again_is_fitted_again() {
    let counts = Arc::new(Mutex::new(vec![2_300, 2_510, 5_000]));
    let (seen, mut arrivals) = mpsc::unbounded_channel();
    let upstream = RawUpstream::start(move |mut stream| {
        let (counts, seen) = (Arc::clone(&counts), seen.clone());
        async move {
            let (head, body) = read_request(&mut stream).await;
            let answer = match head.starts_with("post /v1/messages/count_tokens ") {
                true => json!({"input_tokens": counts.lock().unwrap().pop().unwrap_or(2_400)}),
                false => json!({"type": "message"}),
            };
            seen.send(body.len()).unwrap();
            let answer = answer.to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                answer.len()
            );
            stream.write_all(format!("{head}{answer}").as_bytes()).await.unwrap();
        }
    })
    .await;
    let mut config = Config::new(Upstream::new(&*upstream.url).unwrap());
    config.models = vec![ModelRule::new("test-2600").window(2_600)];
    config.exact_from = Some(0.5);
    let gateway = Running::start(config).await;
    let answer = post(&gateway, "/v1/messages", &request("test-2600")).await;
    assert_eq!(answer.status(), 200);
    let mut sizes = Vec::new();
    while let Ok(size) = arrivals.try_recv() {
        sizes.push(size);
    }
    let [first, second, third, sent] = sizes[..] else { panic!("{sizes:?}") };
    assert!(first > second && second > third, "{sizes:?}");
    // The last count was good: what is sent is what was counted, and its `max_tokens`.
    assert!(sent > third && sent < second, "{sizes:?}");
}

/// A model that counts only for those who can read a compressed answer, or begins to and says no more.
#[tokio::test]
async fn a_count_is_asked_for_in_plain_text_and_not_waited_for_without_end() {
    let (seen, mut arrivals) = mpsc::unbounded_channel();
    let upstream = RawUpstream::start(move |mut stream| {
        let seen = seen.clone();
        async move {
            let (head, _) = read_request(&mut stream).await;
            let is_count = head.starts_with("post /v1/messages/count_tokens ");
            seen.send((is_count, head.contains("accept-encoding"))).unwrap();
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{\"type\":";
            stream.write_all(answer.as_bytes()).await.unwrap();
            if is_count {
                std::future::pending::<()>().await;
            }
            stream.write_all(b" \"message\"  }").await.unwrap();
        }
    })
    .await;
    let mut config = Config::new(Upstream::new(&*upstream.url).unwrap());
    config.models = vec![ModelRule::new("test-2600").window(2_600)];
    config.exact_from = Some(0.5);
    config.limits.selection_time = std::time::Duration::from_secs(1);
    let gateway = Running::start(config).await;
    let sent = http()
        .post(gateway.url("/v1/messages"))
        .header("content-type", "application/json")
        .header("accept-encoding", "gzip")
        .body(request("test-2600").to_string())
        .send();
    let answer = tokio::time::timeout(crate::support::PATIENCE, sent).await.unwrap().unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(arrivals.recv().await, Some((true, false)));
    assert_eq!(arrivals.recv().await, Some((false, true)));
}
