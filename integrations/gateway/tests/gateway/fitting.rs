//! Answers to clients that send more than fits.

use cupel_gateway::ModelRule;
use cupel_json::CacheRule;
use serde_json::{Value, json};

use crate::support::{Running, chat, config, conversation, http, in_front_of, ok_server};
use cupel_dev_servers::local_server::answer::Reply;
use cupel_dev_servers::local_server::{self, LocalServer};

async fn post(gateway: &Running, path: &str, body: &str) -> reqwest::Response {
    post_with(gateway, path, body, "x-nothing").await
}

async fn post_with(gateway: &Running, path: &str, body: &str, header: &str) -> reqwest::Response {
    http()
        .post(gateway.url(path))
        .header("content-type", "application/json")
        .header(header, "1")
        .body(body.to_owned())
        .send()
        .await
        .unwrap()
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_fitted_and_the_upstream_takes_it() {
    let server = ok_server().await;
    let gateway = in_front_of(&server).await;
    for path in ["/v1/chat/completions", "/chat/completions"] {
        let answer = post(&gateway, path, &chat("test-900").to_string()).await;
        assert_eq!(answer.status(), 200);
        let tokens: i64 = answer.headers()["x-cupel-tokens"].to_str().unwrap().parse().unwrap();
        assert!(answer.headers().get("x-cupel-passed").is_none());
        let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(answer["usage"]["prompt_tokens"], tokens, "counted by another tokenizer");
        let arrived = server.take_arrived().remove(0);
        assert_eq!(arrived.refused, None);
        let sent: Value = serde_json::from_slice(&arrived.body).unwrap();
        let messages = sent["messages"].as_array().unwrap();
        assert!(messages.len() < conversation().len());
        let asked = messages.last().unwrap()["content"].as_str().unwrap();
        let question = conversation().last().unwrap()["content"].as_str().unwrap().to_owned();
        assert!(asked.starts_with("<recalled>") && asked.ends_with(&question), "{asked:?}");
        assert_eq!(messages.first(), conversation().first());
    }
    // Without the gateway it is refused.
    let direct = http()
        .post(format!("{}/chat/completions", server.url()))
        .header("content-type", "application/json")
        .body(chat("test-900").to_string());
    assert_eq!(direct.send().await.unwrap().status(), 400);
}

#[tokio::test]
async fn tools_that_do_not_fit_are_left_out_and_those_of_a_request_that_fits_pass() {
    let server = ok_server().await;
    let gateway = in_front_of(&server).await;
    let tool = |name: &str, about: &str| {
        json!({"type": "function", "function": {"name": name, "description": about,
            "parameters": {"type": "object", "properties": {"value": {"type": "string"}}}}})
    };
    let mut tools = vec![tool("find_parcel", "Finds a parcel by its number.")];
    tools.extend((0..40).map(|at| tool(&format!("tool_{at}"), "Does something else altogether.")));
    for (count, is_whole) in [(41, false), (3, true)] {
        let body = json!({"model": "test-900", "max_tokens": 9, "tools": tools[..count],
            "messages": [{"role": "user", "content": "Where is my parcel?"}]});
        let answer = post(&gateway, "/v1/chat/completions", &body.to_string()).await;
        assert_eq!(answer.status(), 200);
        let arrived = server.take_arrived().remove(0);
        let sent: Value = serde_json::from_slice(&arrived.body).unwrap();
        let sent_tools = sent["tools"].as_array().unwrap();
        assert_eq!(sent_tools[0]["function"]["name"], "find_parcel");
        assert_eq!(sent_tools.len() == count, is_whole, "{}", sent_tools.len());
        if is_whole {
            assert_eq!(arrived.body, body.to_string());
        }
    }
}

#[tokio::test]
async fn a_server_that_is_not_openais_gets_breakpoints_only_if_told() {
    let server = ok_server().await;
    let mut config = config(server.url());
    config.at_most = Some(900);
    let rule = |cache| ModelRule::new("gpt-5.6").cache(cache);
    for (cache, marks) in
        [(None, false), (Some(CacheRule::Breakpoints), true), (Some(CacheRule::Prefix), false)]
    {
        let mut config = config.clone();
        config.models.extend(cache.map(rule));
        let gateway = Running::start(config).await;
        post(&gateway, "/v1/chat/completions", &chat("gpt-5.6").to_string()).await;
        let sent = String::from_utf8(server.take_arrived()[0].body.to_vec()).unwrap();
        assert!(sent.contains("<recalled>"), "{sent}");
        assert_eq!(sent.contains("\"prompt_cache_breakpoint\""), marks, "{cache:?}");
    }
}

#[tokio::test]
async fn what_fits_passes_byte_for_byte() {
    let server = ok_server().await;
    let gateway = in_front_of(&server).await;
    let body = r#"{ "model":"other-900","max_tokens":9 , "top_k":7.50,"messages":[ {"role":"user","content":"\u0041"} ] }"#;
    let mut config = config(server.url());
    config.unknown_window = Some(900);
    let knows_all = Running::start(config).await;
    for (gateway, passed) in [(&gateway, true), (&knows_all, false)] {
        let answer = post(gateway, "/v1/chat/completions", body).await;
        assert_eq!(answer.headers().contains_key("x-cupel-passed"), passed);
        // Before it the server is asked for the window of the unknown model.
        assert_eq!(server.take_arrived().last().unwrap().body, body);
    }
}

#[tokio::test]
async fn a_request_of_the_responses_api_is_fitted() {
    let server = ok_server().await;
    let gateway = in_front_of(&server).await;
    let turn = |turn: usize| {
        let id = format!("call_{turn}");
        [
            json!({"type": "function_call", "id": format!("fc_{turn}"), "call_id": id,
                "name": "look_up", "arguments": "{}"}),
            json!({"type": "function_call_output", "call_id": id,
                "output": "a station on the way ".repeat(30)}),
        ]
    };
    let mut input: Vec<Value> = (0..10).flat_map(turn).collect();
    input.insert(0, json!({"role": "user", "content": "Where is it?"}));
    let body = json!({"model": "test-900", "max_output_tokens": 50, "input": input});
    let answer = post(&gateway, "/v1/responses", &body.to_string()).await;
    assert_eq!(answer.status(), 200);
    let tokens: i64 = answer.headers()["x-cupel-tokens"].to_str().unwrap().parse().unwrap();
    let arrived = server.take_arrived().remove(0);
    assert_eq!((arrived.path.as_str(), arrived.refused), ("/responses", None));
    let sent: Value = serde_json::from_slice(&arrived.body).unwrap();
    assert!(sent["input"].as_array().unwrap().len() < 21);
    assert_eq!(local_server::tokens::response(&sent), tokens, "counted by another tokenizer");
}

#[tokio::test]
async fn what_cannot_be_fitted_goes_out_as_it_came_and_says_why() {
    let server = ok_server().await;
    let open = in_front_of(&server).await;
    let mut closed = config(server.url());
    closed.fail_closed = true;
    let closed = Running::start(closed).await;
    let large = json!({"model": "test-300", "messages": [
        {"role": "user", "content": "word ".repeat(2_000)}]});
    for (body, header, why, code) in [
        (
            chat("gpt-99").to_string(),
            "x",
            "unknown_model: the window of model \"gpt-99\" is not known",
            true,
        ),
        (large.to_string(), "x", "PinnedExceedsBudget: ", true),
        ("{\"model\":\"gpt-4o\",\"messages\":7}".to_owned(), "x", "unreadable: ", true),
        ("{\"model\":".to_owned(), "x", "unreadable: ", true),
        (chat("test-900").to_string(), "content-encoding", "encoded: ", true),
        (chat("test-900").to_string(), "x-cupel-bypass", "bypass: ", false),
    ] {
        let answer = post_with(&open, "/v1/chat/completions", &body, header).await;
        let said = answer.headers()["x-cupel-passed"].to_str().unwrap().to_owned();
        assert!(said.starts_with(why), "{said}");
        assert!(!answer.headers().contains_key("x-cupel-tokens"));
        // The upstream's own error is what the client gets.
        assert_ne!(answer.status(), 422);
        assert_eq!(server.take_arrived().last().unwrap().body, body);

        let answer = post_with(&closed, "/v1/chat/completions", &body, header).await;
        assert_eq!(answer.status() == 422, code, "{body}");
        // The gateway's own questions have no body.
        assert_eq!(server.take_arrived().iter().all(|one| one.body.is_empty()), code);
    }
}

#[tokio::test]
async fn an_upstreams_errors_pass_unchanged() {
    let server = LocalServer::start(|_| async { Reply::Status(429, "slow down".to_owned()) }).await;
    let gateway = in_front_of(&server).await;
    let answer = post(&gateway, "/v1/chat/completions", &chat("test-900").to_string()).await;
    assert_eq!(answer.status(), 429);
    let body = answer.text().await.unwrap();
    let direct = http()
        .post(format!("{}/chat/completions", server.url()))
        .header("content-type", "application/json")
        .body(String::from_utf8(server.arrived()[0].body.to_vec()).unwrap());
    assert_eq!(direct.send().await.unwrap().text().await.unwrap(), body);
}

#[tokio::test]
async fn a_model_is_asked_for_where_it_is() {
    use cupel_gateway::Upstream;

    let (one, two) = (ok_server().await, ok_server().await);
    let mut config = config(one.url());
    config.upstreams = vec![
        Upstream::new(one.url()).unwrap().name("one"),
        Upstream::new(two.url()).unwrap().name("two").models(["test-9*"]),
    ];
    let gateway = Running::start(config).await;
    post(&gateway, "/v1/chat/completions", &chat("test-900").to_string()).await;
    post(&gateway, "/v1/chat/completions", &chat("test-2600").to_string()).await;
    post(&gateway, "/v1/embeddings", "{\"model\":\"test-900\"}").await;
    assert_eq!((one.arrived().len(), two.arrived().len()), (1, 2));
}
