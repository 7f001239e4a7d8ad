//! Routes of requests: by model, then by protocol, and never to another vendor.

use std::io::Write;
use std::sync::{Arc, Mutex};

use cupel_gateway::{ClientKey, Config, ModelRule, Protocol, Secret, Upstream, UpstreamKey};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::raw::{RawUpstream, exchange, read_request, request, status};
use crate::support::{Running, chat, config};

type Arrived = Arc<Mutex<Vec<(&'static str, String, Vec<u8>)>>>;

/// A vendor that notes what it is sent, and answers with a list of its models.
async fn vendor(name: &'static str, models: Value, arrived: &Arrived) -> RawUpstream {
    let arrived = Arc::clone(arrived);
    RawUpstream::start(move |mut stream| {
        let (arrived, body) = (Arc::clone(&arrived), json!({"data": models}).to_string());
        async move {
            let (head, sent) = read_request(&mut stream).await;
            arrived.lock().unwrap().push((name, head, sent));
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
            let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    })
    .await
}

struct Vendors {
    gateway: Running,
    arrived: Arrived,
    _upstreams: [RawUpstream; 3],
}

impl Vendors {
    /// As most have it: one by default, one for `claude*`, one for `llama*`.
    async fn start(adjust: impl FnOnce(&mut Config)) -> Self {
        let arrived = Arrived::default();
        let gpt = json!([{"id": "gpt-5", "object": "model"}, {"id": "llama-1", "object": "model"}]);
        let claude = json!([{"id": "claude-4", "type": "model", "display_name": "Claude"}]);
        let upstreams = [
            vendor("openai", gpt, &arrived).await,
            vendor("anthropic", claude, &arrived).await,
            vendor("local", json!([{"id": "llama-3", "object": "model"}]), &arrived).await,
        ];
        let of =
            |index: usize, name: &str| Upstream::new(&*upstreams[index].url).unwrap().name(name);
        let mut config = config(&upstreams[0].url);
        config.models.push(ModelRule::new("llama*").window(900));
        config.upstreams = vec![
            of(0, "openai").protocol(Protocol::OpenAi),
            of(1, "anthropic").protocol(Protocol::Anthropic).models(["claude*"]),
            of(2, "local").models(["llama*"]).key(UpstreamKey::None),
        ];
        adjust(&mut config);
        Self { gateway: Running::start(config).await, arrived, _upstreams: upstreams }
    }

    /// The status of an answer, and who was sent what.
    async fn ask(&self, line: &str, headers: &str, body: &[u8]) -> (u16, Vec<(&str, String)>) {
        let length = format!("Content-Length: {}\r\n", body.len());
        let asked = request(self.gateway.address, line, &format!("{headers}{length}"), "");
        let answer = exchange(self.gateway.address, [asked.as_bytes(), body].concat()).await;
        let arrived = std::mem::take(&mut *self.arrived.lock().unwrap());
        (status(&answer), arrived.into_iter().map(|(name, head, _)| (name, head)).collect())
    }
}

const JSON: &str = "Content-Type: application/json\r\nAuthorization: Bearer sk-client\r\n";
const ANTHROPIC: &str = "Content-Type: application/json\r\nx-api-key: sk-client\r\n\
                         anthropic-version: 2023-06-01\r\n";

pub(crate) fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn every_endpoint_goes_where_its_model_is() {
    let vendors = Vendors::start(|_| {}).await;
    let form =
        "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nllama-asr\r\n--b--\r\n";
    let multipart = "Content-Type: multipart/form-data; boundary=b\r\n";
    let embed = |model: &str| json!({"model": model, "input": "x"}).to_string();
    for (line, headers, body, to) in [
        ("POST /v1/embeddings", JSON, embed("llama-e"), "local"),
        ("POST /v1/completions", JSON, embed("llama-3"), "local"),
        ("POST /embeddings", JSON, embed("text-embedding-3"), "openai"),
        ("POST /v1/messages/count_tokens", ANTHROPIC, embed("claude-4"), "anthropic"),
        ("POST /v1/audio/transcriptions", multipart, form.to_owned(), "local"),
        ("GET /v1/models/llama-3", JSON, String::new(), "local"),
        ("GET /v1/models/claude%2d4", ANTHROPIC, String::new(), "anthropic"),
        ("POST /v1/messages/batches", ANTHROPIC, "{}".to_owned(), "anthropic"),
        ("GET /v1/files", ANTHROPIC, String::new(), "anthropic"),
        ("GET /v1/files", "x-api-key: sk-client\r\n", String::new(), "anthropic"),
        ("POST /v1/files", JSON, "{}".to_owned(), "openai"),
        ("GET /v1/responses/resp_1", JSON, String::new(), "openai"),
    ] {
        let (status, arrived) = vendors.ask(line, headers, body.as_bytes()).await;
        let names: Vec<&str> = arrived.iter().map(|(name, _)| *name).collect();
        assert_eq!((status, names), (200, vec![to]), "{line} {headers}{body}");
        assert_eq!(arrived[0].1.contains("sk-client"), to != "local" && headers != multipart);
    }
}

#[tokio::test]
async fn a_chat_goes_where_its_model_is_however_it_is_written() {
    let vendors = Vendors::start(|_| {}).await;
    let body = chat("llama-3").to_string().into_bytes();
    let marked = [b"\xef\xbb\xbf", body.as_slice()].concat();
    let gzipped = format!("{JSON}Content-Encoding: gzip\r\n");
    let bypassed = format!("{gzipped}x-cupel-bypass: 1\r\n");
    for (headers, body, is_encoded) in [
        (JSON, body.clone(), false),
        (JSON, marked.clone(), false),
        (&*gzipped, gzip(&body), false),
        (&*gzipped, gzip(&marked), false),
        (&*bypassed, gzip(&body), true),
    ] {
        let (status, arrived) = vendors.ask("POST /v1/chat/completions", headers, &body).await;
        assert_eq!((status, arrived.len()), (200, 1), "{headers}");
        assert_eq!(arrived[0].0, "local", "{headers}");
        assert_eq!(arrived[0].1.contains("content-encoding: gzip"), is_encoded, "{headers}");
    }
    let twice = br#"{"model":"llama-3","model":"gpt-5","messages":[]}"#;
    let unclosed = br#"{"model":"llama-3","messages":["#;
    let brotli = format!("{JSON}Content-Encoding: br\r\n");
    for (headers, body, expected) in [
        (JSON, &twice[..], 400),
        (&*gzipped, &gzip(twice), 400),
        (JSON, unclosed, 400),
        (&*gzipped, b"no gzip", 400),
        (&*brotli, b"?", 415),
    ] {
        for line in ["POST /v1/chat/completions", "POST /v1/embeddings"] {
            let (status, arrived) = vendors.ask(line, headers, body).await;
            assert_eq!((status, arrived), (expected, vec![]), "{line} {headers}");
        }
    }
}

#[tokio::test]
async fn a_model_named_twice_is_refused_in_front_of_one_upstream_too() {
    let arrived = Arrived::default();
    let upstream = vendor("one", json!([]), &arrived).await;
    let gateway = Running::start(config(&upstream.url)).await;
    let twice = r#"{"model":"test-900","model":"gpt-5","messages":[]}"#;
    let asked = request(gateway.address, "POST /v1/chat/completions", JSON, twice);
    let answer = exchange(gateway.address, asked).await;
    assert_eq!(status(&answer), 400, "{answer}");
    assert!(answer.contains("two_models") && arrived.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_is_compressed_is_fitted_within_the_limits() {
    let arrived = Arrived::default();
    let upstream = vendor("one", json!([]), &arrived).await;
    let mut config = config(&upstream.url);
    config.limits.body_bytes = 100_000;
    config.limits.waiting_bytes = 1 << 20;
    let gateway = Running::start(config).await;
    let headers = format!("{JSON}Content-Encoding: gzip\r\n");
    let send = async |body: Vec<u8>| {
        let length = format!("{headers}Content-Length: {}\r\n", body.len());
        let asked = request(gateway.address, "POST /v1/chat/completions", &length, "");
        exchange(gateway.address, [asked.into_bytes(), body].concat()).await
    };
    let body = chat("test-900").to_string();
    let answer = send(gzip(body.as_bytes())).await;
    assert_eq!(status(&answer), 200, "{answer}");
    assert!(answer.contains("x-cupel-tokens: "), "{answer}");
    let (_, head, sent) = arrived.lock().unwrap().remove(0);
    assert!(!head.contains("content-encoding"), "{head}");
    let sent: Value = serde_json::from_slice(&sent).unwrap();
    let all = chat("test-900")["messages"].as_array().unwrap().len();
    assert!(sent["messages"].as_array().unwrap().len() < all);
    // A few bytes that would be many.
    let answer = send(gzip(&vec![b'['; 10_000_000])).await;
    assert_eq!(status(&answer), 413, "{answer}");
    assert!(arrived.lock().unwrap().is_empty());
}

#[tokio::test]
async fn models_of_all_upstreams_are_one_list() {
    let own = |config: &mut Config| {
        let anthropic = config.upstreams.remove(1);
        let key = UpstreamKey::Own(Secret::new("sk-own"));
        config.upstreams.insert(1, anthropic.key(key));
        config.keys = vec![ClientKey::new("sk-client", Secret::new("sk-client"))];
    };
    let vendors = Vendors::start(own).await;
    let list = async |headers: &str| {
        let asked = request(vendors.gateway.address, "GET /v1/models", headers, "");
        let answer = exchange(vendors.gateway.address, asked).await;
        let list: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let data = list["data"].as_array().unwrap().clone();
        let ids: Vec<String> =
            data.iter().map(|model| model["id"].as_str().unwrap().to_owned()).collect();
        (ids, data, list)
    };
    let (ids, data, list_of_openai) = list("Authorization: Bearer sk-client\r\n").await;
    // A model that another upstream claims cannot be had from this one.
    assert_eq!(ids, ["gpt-5", "claude-4", "llama-3"]);
    assert_eq!(list_of_openai["object"], "list");
    assert!(data.iter().all(|model| model["object"] == "model"), "{data:?}");
    for (name, head, _) in std::mem::take(&mut *vendors.arrived.lock().unwrap()) {
        assert_eq!(head.contains("x-api-key: sk-own"), name == "anthropic", "{head}");
        assert!(!head.contains("sk-client"), "{name}: {head}");
    }
    let (ids, data, _) = list("x-api-key: sk-client\r\nanthropic-version: 2023-06-01\r\n").await;
    assert_eq!(ids, ["claude-4", "llama-3"]);
    assert!(data.iter().all(|model| model["type"] == "model"), "{data:?}");
}

/// A client's own key goes to no vendor of the other protocol, not even for a list.
#[tokio::test]
async fn a_list_of_models_shows_no_key_to_another_vendor() {
    let vendors = Vendors::start(|_| {}).await;
    for (headers, expected) in [(JSON, ["local", "openai"]), (ANTHROPIC, ["anthropic", "local"])] {
        let (status, arrived) = vendors.ask("GET /v1/models", headers, b"").await;
        let mut names: Vec<&str> = arrived.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        assert_eq!((status, names), (200, expected.to_vec()));
        let local = arrived.iter().find(|(name, _)| *name == "local").unwrap();
        assert!(!local.1.contains("sk-client"));
    }
}
