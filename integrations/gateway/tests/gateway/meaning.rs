//! An embedding model beside the words: what it is sent, and what its mistakes cost.

use std::time::{Duration, Instant};

use cupel_gateway::{Config, Meaning, Secret};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::raw::{RawUpstream, read_request};
use crate::support::{Running, config, http, ok_server};
use cupel_dev_servers::local_server::LocalServer;

/// A server of embeddings that knows that an automobile is a car, and shows what it is sent.
async fn embeddings(
    spoil: fn(&mut Value),
) -> (RawUpstream, mpsc::UnboundedReceiver<(String, Vec<u8>)>) {
    let (arrived, arrivals) = mpsc::unbounded_channel();
    let server = RawUpstream::start(move |mut stream| {
        let arrived = arrived.clone();
        async move {
            let (head, body) = read_request(&mut stream).await;
            let asked: Value = serde_json::from_slice(&body).unwrap();
            let texts = asked["input"].as_array().unwrap().iter();
            let is_car = |text: &str| text.contains("automobile") || text.contains("car ");
            let vector =
                |text: &str| if is_car(text) { json!([1.0, 0.0]) } else { json!([0.0, 1.0]) };
            let data = texts.map(|text| json!({"embedding": vector(text.as_str().unwrap())}));
            let mut answer = json!({"data": data.collect::<Vec<_>>()});
            spoil(&mut answer);
            arrived.send((head, body)).unwrap();
            let answer = answer.to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                answer.len()
            );
            let _ = stream.write_all((head + &answer).as_bytes()).await;
        }
    })
    .await;
    (server, arrivals)
}

fn meaning(url: &str) -> Meaning {
    let mut meaning = Meaning::new(url, "minilm");
    meaning.deadline = Duration::from_secs(10);
    meaning.key = Some(Secret::new("sk-embeddings"));
    meaning.passage_prefix = "passage: ".to_owned();
    meaning
}

/// Sends a long talk with a fact at its beginning through a gateway. Returns the request that was sent on.
async fn sent(server: &LocalServer, config: Config) -> String {
    let gateway = Running::start(config).await;
    let mut messages = vec![
        json!({"role": "user", "content": "We keep an automobile in the barn."}),
        json!({"role": "assistant", "content": "Noted."}),
    ];
    for turn in 0..40 {
        messages
            .push(json!({"role": "user", "content": format!("Something else, number {turn}.")}));
        messages.push(json!({"role": "assistant", "content": "Hm. ".repeat(30)}));
    }
    messages.push(json!({"role": "user", "content": "Is there a car somewhere?"}));
    let answer = http()
        .post(gateway.url("/v1/chat/completions"))
        .header("content-type", "application/json")
        .header("authorization", "Bearer sk-client")
        .body(json!({"model": "test-900", "messages": messages}).to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    let arrived = server.take_arrived().remove(0);
    String::from_utf8(arrived.body.to_vec()).unwrap()
}

#[tokio::test]
async fn a_model_finds_what_words_miss_and_learns_no_key_of_the_client() {
    let server = ok_server().await;
    let without = sent(&server, config(server.url())).await;
    assert!(!without.contains("automobile"), "{without}");

    let (model, mut arrivals) = embeddings(|_| ()).await;
    let mut config = config(server.url());
    config.meaning = Some(meaning(&model.url));
    let body = sent(&server, config).await;
    assert!(body.contains("We keep an automobile in the barn."), "{body}");
    let mut questions = 0;
    while let Ok((head, body)) = arrivals.try_recv() {
        assert!(head.starts_with("post ") && head.contains("/embeddings http/1.1"), "{head}");
        assert!(head.contains("bearer sk-embeddings") && !head.contains("sk-client"), "{head}");
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["model"], "minilm");
        let texts: Vec<&str> =
            body["input"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        if texts == ["Is there a car somewhere?"] {
            questions += 1;
        } else {
            assert!(texts.iter().all(|text| text.starts_with("passage: ")), "{texts:?}");
        }
    }
    assert_eq!(questions, 1);
}

#[tokio::test]
async fn a_model_that_is_wrong_or_away_changes_nothing() {
    let server = ok_server().await;
    let without = sent(&server, config(server.url())).await;
    let spoils: [fn(&mut Value); 4] = [
        |answer| *answer = json!({"error": {"message": "no"}}),
        |answer| drop(answer["data"].as_array_mut().unwrap().pop()),
        |answer| answer["data"][0]["embedding"] = json!([null, 1.0]),
        |answer| answer["data"][0]["embedding"] = json!([]),
    ];
    for spoil in spoils {
        let (model, _arrivals) = embeddings(spoil).await;
        let mut config = config(server.url());
        config.meaning = Some(meaning(&model.url));
        assert_eq!(sent(&server, config).await, without);
    }
    let mut config = config(server.url());
    config.meaning = Some(meaning("http://127.0.0.1:9/v1"));
    assert_eq!(sent(&server, config).await, without);
}

#[tokio::test]
async fn a_model_that_never_answers_delays_a_call_by_its_deadline() {
    let server = ok_server().await;
    let without = sent(&server, config(server.url())).await;
    let stalled = RawUpstream::start(|mut stream| async move {
        read_request(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let mut config = config(server.url());
    let mut meaning = meaning(&stalled.url);
    meaning.deadline = Duration::from_millis(200);
    config.meaning = Some(meaning);
    let begun = Instant::now();
    assert_eq!(sent(&server, config).await, without);
    // Generous, because machines are busy: a call that waited for the model would take a minute.
    assert!(begun.elapsed() < Duration::from_secs(30));
}
