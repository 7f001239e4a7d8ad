//! A client, and a request of 100 messages of about 60 tokens.

use std::error::Error;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

#[derive(Debug, Clone)]
pub(crate) struct Client(Pool<HttpConnector, Full<Bytes>>);

impl Client {
    pub(crate) fn new() -> Self {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        Self(Pool::builder(TokioExecutor::new()).build(tcp))
    }

    pub(crate) async fn send(
        &self,
        to: SocketAddr,
        body: &Bytes,
    ) -> Result<Response<Incoming>, Failure> {
        let request = Request::post(format!("http://{to}/v1/chat/completions"))
            .header("content-type", "application/json")
            .body(Full::new(body.clone()))?;
        let answer = self.0.request(request).await?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let body = answer.into_body().collect().await?.to_bytes();
        Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into())
    }

    /// Asks whether the gateway is alive.
    pub(crate) async fn health(&self, to: SocketAddr) -> Result<(), Failure> {
        let request = Request::get(format!("http://{to}/health/liveness")).body(Full::default())?;
        self.0.request(request).await?.into_body().collect().await?;
        Ok(())
    }

    /// Sends, and reads all of the answer: how many bytes it had.
    pub(crate) async fn call(&self, to: SocketAddr, body: &Bytes) -> Result<usize, Failure> {
        let answer = self.send(to, body).await?.into_body().collect().await?;
        Ok(answer.to_bytes().len())
    }
}

/// Words as people use them, each now and then.
const WORDS: &str = "about after again agree almost already also always answer area around because become \
    before begin below between better both bring build business call carry case cause central change \
    check child choose city clear close cold come common company consider continue control could country \
    course cover decide deep describe different direct doctor does during early earth easy either energy \
    enough even evening ever every example explain face family feel figure final find fire first follow \
    food form four friend front full game general give good government great ground group grow hand happen \
    hard have head hear heart help here high history hold home hope hour house however hundred idea \
    important inside interest island keep kind know land language large last late lead learn leave letter \
    life light line list little live local long look machine main make many mark matter mean measure";

/// A request of one short message.
pub(crate) fn small_request() -> Bytes {
    let messages = json!([{"role": "user", "content": "Is five an odd number?"}]);
    Bytes::from(json!({"model": "gpt-4o", "messages": messages}).to_string())
}

/// Another conversation for each seed; its turns grow from call to call in no way that matters here.
pub(crate) fn request(seed: usize, stream: bool) -> Bytes {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let text = |message: usize| -> String {
        let mut state = (seed * 1_000 + message) as u64;
        let any = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(state >> 33).unwrap_or_default() % words.len();
            words.get(at).copied().unwrap_or_default()
        };
        (0..56).map(any).collect::<Vec<_>>().join(" ")
    };
    let messages: Vec<Value> = (0..100)
        .map(|message| {
            let role = if message % 2 == 0 { "user" } else { "assistant" };
            json!({"role": role, "content": format!("{message}: {}", text(message))})
        })
        .collect();
    let body = json!({"model": "gpt-4o", "stream": stream, "max_completion_tokens": 500, "messages": messages});
    Bytes::from(body.to_string())
}
