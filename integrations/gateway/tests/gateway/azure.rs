//! Azure's paths, which name the model as a deployment, and endpoints that nobody fits.

use cupel_gateway::{ClientKey, Retriever, Secret, Upstream, UpstreamKey};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

use crate::raw::{RawUpstream, exchange, read_request, request, status};
use crate::support::{Running, chat, config};

async fn upstream() -> (RawUpstream, mpsc::UnboundedReceiver<(String, Vec<u8>)>) {
    let (arrived, arrivals) = mpsc::unbounded_channel();
    let upstream = RawUpstream::start(move |mut stream| {
        let arrived = arrived.clone();
        async move {
            arrived.send(read_request(&mut stream).await).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await.unwrap();
        }
    })
    .await;
    (upstream, arrivals)
}

const JSON: &str = "Content-Type: application/json\r\nAuthorization: Bearer gate\r\n";

#[tokio::test]
async fn a_deployment_is_the_model_of_a_request_without_one() {
    let (server, mut arrivals) = upstream().await;
    let mut config = config(&server.url);
    let own = UpstreamKey::Own(Secret::new("azure-key"));
    // Azure's addresses end before `/openai`.
    let url = server.url.trim_end_matches("/v1").to_owned();
    config.upstreams = vec![Upstream::new(url).unwrap().key(own)];
    config.keys = vec![ClientKey::new("gate", Secret::new("gate"))];
    config.keys[0].models = vec!["test-900".to_owned()];
    let gateway = Running::start(config).await;
    let mut body = chat("test-900");
    body.as_object_mut().unwrap().remove("model");
    let whole = body.to_string();
    let line = "POST /openai/deployments/test-900/chat/completions?api-version=2024-10-21";
    let asked = request(gateway.address, line, JSON, &whole);
    let answer = exchange(gateway.address, asked).await;
    assert_eq!(status(&answer), 200, "{answer}");
    assert!(answer.contains("x-cupel-tokens: "), "{answer}");
    let (head, sent) = arrivals.recv().await.unwrap();
    assert!(head.starts_with(&format!("{} http/1.1\r\n", line.to_lowercase())), "{head}");
    assert!(head.contains("api-key: azure-key\r\n") && !head.contains("authorization"), "{head}");
    assert!(sent.len() < whole.len() && !String::from_utf8_lossy(&sent).contains("test-900"));

    let other = "POST /openai/deployments/test-300/chat/completions?api-version=2024-10-21";
    let answer = exchange(gateway.address, request(gateway.address, other, JSON, &whole)).await;
    assert!(answer.contains("model_not_allowed"), "{answer}");

    // Servers differ in which of two models they take, and some look at the path and others at the body.
    let twice = r#"{"model":"test-900","model":"test-300","messages":[]}"#;
    let answer = exchange(gateway.address, request(gateway.address, line, JSON, twice)).await;
    assert!(answer.contains("two_models"), "{answer}");
    assert!(arrivals.try_recv().is_err());
}

#[tokio::test]
async fn a_model_that_a_key_may_not_use_is_refused_before_anybody_is_asked() {
    let (server, mut arrivals) = upstream().await;
    let mut config = config(&server.url);
    config.keys = vec![ClientKey::new("gate", Secret::new("gate"))];
    config.keys[0].models = vec!["test-900".to_owned()];
    config.sources = vec![Retriever::new("manual", format!("{}/search", server.url))];
    let gateway = Running::start(config).await;
    // The window of an unknown model would be asked for.
    for model in ["test-300", "unknown"] {
        let body = chat(model).to_string();
        let asked = request(gateway.address, "POST /v1/chat/completions", JSON, &body);
        let answer = exchange(gateway.address, asked).await;
        assert!(answer.contains("model_not_allowed"), "{answer}");
    }
    assert!(arrivals.try_recv().is_err());
}

#[tokio::test]
async fn an_endpoint_that_nobody_fits_says_so() {
    let (server, mut arrivals) = upstream().await;
    let gateway = Running::start(config(&server.url)).await;
    let body = json!({"model": "m", "prompt": "Once"}).to_string();
    for (line, is_said) in [("POST /v1/completions", true), ("GET /v1/files", false)] {
        let answer = exchange(gateway.address, request(gateway.address, line, JSON, &body)).await;
        assert_eq!(answer.contains("x-cupel-passed: endpoint: "), is_said, "{answer}");
        arrivals.recv().await.unwrap();
    }
}
