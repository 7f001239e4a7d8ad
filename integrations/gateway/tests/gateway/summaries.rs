//! Summaries by a model of the operator's own: for conversations with a name, and with nothing of a client.

use cupel_gateway::{Config, Gateway, Secret, SummaryModel, Upstream, UpstreamKey};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::raw::{RawUpstream, read_request};
use crate::support::{PATIENCE, Running, config, http, ok_server};

const SUMMARY: &str = "Several orders were looked up.";

/// A model that answers every request with the same summary, and shows the requests.
async fn summariser() -> (RawUpstream, mpsc::UnboundedReceiver<(String, Vec<u8>)>) {
    let (arrived, arrivals) = mpsc::unbounded_channel();
    let body = json!({"choices": [{"message": {"role": "assistant", "content": SUMMARY}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7}})
    .to_string();
    let upstream = RawUpstream::start(move |mut stream| {
        let (arrived, body) = (arrived.clone(), body.clone());
        async move {
            let _ = arrived.send(read_request(&mut stream).await);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    })
    .await;
    (upstream, arrivals)
}

fn with_summaries(url: &str, summariser: &str) -> Config {
    let mut config = config(url);
    config.upstreams.push(
        Upstream::new(summariser)
            .unwrap()
            .name("summaries")
            .models(["small"])
            .key(UpstreamKey::None),
    );
    let mut model = SummaryModel::new("summaries", "small");
    model.key = Some(Secret::new("sk-own"));
    (model.share, model.limit) = (Some(0.04), Some(24));
    (model.input_price, model.output_price) = (0.0, 0.0);
    config.compaction = Some(model);
    config
}

/// A conversation about so many orders.
fn orders(count: usize) -> Value {
    let mut messages = vec![json!({"role": "system", "content": "You help with orders."})];
    for order in 0..count {
        let story = "it passed another station on its way and was weighed. ".repeat(4);
        messages
            .push(json!({"role": "user", "content": format!("Where is order {order}? {story}")}));
        messages
            .push(json!({"role": "assistant", "content": format!("Order {order} left. {story}")}));
    }
    let _ = messages.pop();
    json!({"model": "test-2600", "max_completion_tokens": 50, "messages": messages})
}

async fn send(gateway: &Running, body: &Value, name: Option<&str>) {
    let mut request = http()
        .post(gateway.url("/v1/chat/completions"))
        .header("content-type", "application/json")
        .header("authorization", "Bearer sk-client")
        .header("x-private", "mine");
    if let Some(name) = name {
        request = request.header("x-cupel-conversation", name);
    }
    let answer = request.body(body.to_string()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn a_named_conversation_gets_summaries_by_the_operators_model() {
    let server = ok_server().await;
    let (model, mut arrivals) = summariser().await;
    let gateway = Running::start(with_summaries(server.url(), &model.url)).await;
    let mut found = false;
    for count in 15..45 {
        send(&gateway, &orders(count), Some("talk")).await;
        let sent = server.take_arrived().remove(0);
        found = String::from_utf8_lossy(&sent.body).contains(SUMMARY);
        if found {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(found);
    let (head, body) = tokio::time::timeout(PATIENCE, arrivals.recv()).await.unwrap().unwrap();
    let (head, body) = (head.to_lowercase(), String::from_utf8(body).unwrap());
    assert!(head.contains("authorization: bearer sk-own"), "{head}");
    for private in ["sk-client", "x-private", "x-cupel"] {
        assert!(!head.contains(private), "{head}");
    }
    assert!(head.starts_with("post /") && head.contains("/chat/completions"), "{head}");
    assert!(body.contains("user: Where is order ") && body.contains("at most 24 tokens"), "{body}");
}

#[tokio::test]
async fn a_conversation_without_a_name_is_not_summarised() {
    let server = ok_server().await;
    let (model, mut arrivals) = summariser().await;
    let gateway = Running::start(with_summaries(server.url(), &model.url)).await;
    let plain = Running::start(config(server.url())).await;
    for count in [20, 24, 28, 32] {
        send(&gateway, &orders(count), None).await;
        send(&plain, &orders(count), None).await;
        let [with, without] = server.take_arrived().try_into().ok().unwrap();
        assert_eq!(with.body, without.body);
    }
    assert!(arrivals.try_recv().is_err());
}

#[tokio::test]
async fn a_model_that_is_away_costs_the_summaries_alone() {
    let server = ok_server().await;
    let gateway = Running::start(with_summaries(server.url(), "http://127.0.0.1:9/v1")).await;
    let plain = Running::start(config(server.url())).await;
    for count in [20, 24, 28, 32] {
        send(&gateway, &orders(count), Some("talk")).await;
        send(&plain, &orders(count), Some("talk")).await;
        let [with, without] = server.take_arrived().try_into().ok().unwrap();
        assert_eq!(with.body, without.body);
    }
}

#[test]
fn a_clients_key_is_never_used_for_summaries() {
    let mut config = Config::new(Upstream::new("https://api.openai.com/v1").unwrap());
    config.compaction = Some(SummaryModel::new("api.openai.com", "small"));
    let error = Gateway::new(config).err().unwrap().to_string();
    assert!(error.contains("compaction.key: missing"), "{error}");
}
