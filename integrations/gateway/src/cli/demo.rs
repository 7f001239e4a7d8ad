//! Demo: a gateway, a scripted stand-in for a model, and a client with a long conversation. It needs no key
//! and no network.

#![allow(
    clippy::indexing_slicing,
    reason = "only JSON values are indexed, and a missing field is null"
)]

use std::net::SocketAddr;

use bytes::Bytes;
use cupel_gateway::{Config, Secret, Upstream, UpstreamKey};
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::output::{gateway, listen, new_token, say, show_token};
use super::{serve, stand_in};

/// Small window: the conversation outgrows it within a minute.
const WINDOW: i64 = 1_600;

/// Number of orders that the client asks about before it asks about the first ones again.
const ORDERS: usize = 10;

/// Runs the demo; with `once` it ends with the conversation.
pub(super) async fn run(once: bool, address: Option<SocketAddr>) -> Result<(), String> {
    let model = stand_in::start().await?;
    let upstream = Upstream::new(format!("http://{model}/v1"))?.name("stand-in");
    let mut config = Config::new(upstream.key(UpstreamKey::None));
    config.at_most = Some(WINDOW);
    let token = new_token()?;
    config.page.token = Some(Secret::new(&*token));
    let gateway = gateway(config)?;
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let (listener, address) = listen(address.unwrap_or(any_port)).await?;
    say(&format!(
        "gateway: http://{address}/v1, with a window of {WINDOW} tokens\n\
         model: a script that sees only the messages that it gets\n"
    ));
    show_token(&token, None, address)?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(gateway.serve(listener, async { drop(stopped.await) }));
    DemoClient::new(address).converse().await?;
    if !once {
        say(&format!("page of recent calls: http://{address}/cupel/ (Ctrl+C ends the demo)\n"));
        serve::stopped().await;
    }
    drop(stop);
    let served = serving.await.map_err(|error| error.to_string())?;
    served.map_err(|error| error.to_string())
}

/// Client that sends the whole conversation with every call, as clients do.
struct DemoClient {
    http: Client<HttpConnector, Full<Bytes>>,
    address: String,
    messages: Vec<Value>,
}

impl DemoClient {
    fn new(gateway: SocketAddr) -> Self {
        let system = "You answer questions about orders. Look them up; never guess.";
        Self {
            http: Client::builder(TokioExecutor::new()).build_http(),
            address: format!("http://{gateway}/v1/chat/completions"),
            messages: vec![json!({"role": "system", "content": system})],
        }
    }

    async fn converse(&mut self) -> Result<(), String> {
        // Said once, and no later question has these words.
        self.question("From now on, call me Ada.");
        self.call().await?;
        for order in 1..=ORDERS {
            self.question(&format!("On which day was order {order} packed, and where is it now?"));
            self.look_up(order);
            self.call().await?;
        }
        for order in [2, 9] {
            let again = "Without looking it up again: on which day was order";
            self.question(&format!("{again} {order} packed?"));
            self.call().await?;
        }
        Ok(())
    }

    fn question(&mut self, question: &str) {
        say(&format!("\nuser: {question}\n"));
        self.messages.push(json!({"role": "user", "content": question}));
    }

    /// Adds a tool call and its result: a long record, most of which nobody asked for.
    fn look_up(&mut self, order: usize) {
        let stations = ["Lyon", "Basel", "Ulm", "Graz", "Brno"].iter().cycle().skip(order % 5);
        let now = stations.clone().next().unwrap_or(&"Lyon");
        let mut record =
            format!("order {order} was packed on day {} and is now in {now}. ", order * 3);
        for (step, station) in (1..=10).zip(stations.skip(1)) {
            let reader = order * 100 + step;
            record += &format!("Station {step}: scanned in {station} by reader {reader}. ");
        }
        let id = format!("call_{order}");
        let arguments = json!({"order": order}).to_string();
        let call = json!({"id": id, "type": "function",
            "function": {"name": "look_up", "arguments": arguments}});
        let result = json!({"role": "tool", "tool_call_id": id, "content": record});
        self.messages.extend([json!({"role": "assistant", "tool_calls": [call]}), result]);
    }

    /// Sends the conversation, and adds the answer to it.
    async fn call(&mut self) -> Result<(), String> {
        let messages = &self.messages;
        let body = json!({"model": "gpt-4o", "max_completion_tokens": 100, "messages": messages});
        let request = Request::post(&self.address)
            .header("content-type", "application/json")
            .header("x-cupel-conversation", "demo")
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(|error| error.to_string())?;
        let response = self.http.request(request).await;
        let response = response.map_err(|error| format!("the gateway gave no answer: {error}"))?;
        let status = response.status();
        let header = |name: &str| {
            let value = response.headers().get(name);
            value.and_then(|value| value.to_str().ok()).unwrap_or("-").to_owned()
        };
        let (tokens, report) = (header("x-cupel-tokens"), header("x-cupel-report"));
        let count = messages.len();
        say(&format!("  call with {count} messages: {tokens} tokens sent (report {report})\n"));
        let body = response.into_body().collect().await.map_err(|error| error.to_string())?;
        let mut answer: Value =
            serde_json::from_slice(&body.to_bytes()).map_err(|error| error.to_string())?;
        if !status.is_success() {
            return Err(format!("{status}: {answer}"));
        }
        let message = answer["choices"][0]["message"].take();
        say(&format!("model: {}\n", message["content"].as_str().unwrap_or_default()));
        self.messages.push(message);
        Ok(())
    }
}
