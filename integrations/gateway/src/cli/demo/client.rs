//! A client with a long conversation: it sends all of it with every call, as clients do.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::super::say;

/// How many orders are asked about before it asks about the first ones again.
const ORDERS: u32 = 10;

/// Holds the conversation.
pub(super) async fn converse(gateway: SocketAddr) -> Result<(), String> {
    let client = Caller::new(gateway)?;
    let system = "You answer questions about orders. Look them up; never guess.";
    let mut messages = vec![json!({"role": "system", "content": system})];
    for order in 1..=ORDERS {
        let question = format!("On which day was order {order} packed, and where is it now?");
        client.ask(&mut messages, &question).await?;
    }
    for order in [2, 9] {
        let question =
            format!("Without looking it up again: on which day was order {order} packed?");
        client.ask(&mut messages, &question).await?;
    }
    Ok(())
}

struct Caller {
    client: Client<HttpConnector, Full<Bytes>>,
    address: Uri,
}

impl Caller {
    fn new(gateway: SocketAddr) -> Result<Self, String> {
        let address = format!("http://{gateway}/v1/chat/completions").parse();
        let address = address.map_err(|error| format!("no address: {error}"))?;
        Ok(Self { client: Client::builder(TokioExecutor::new()).build_http(), address })
    }

    /// Asks, and makes the calls that the answer asks for, until there is a text.
    async fn ask(&self, messages: &mut Vec<Value>, question: &str) -> Result<(), String> {
        say(&format!("\nuser: {question}\n"));
        messages.push(json!({"role": "user", "content": question}));
        loop {
            let answer = self.call(messages).await?;
            messages.push(answer.clone());
            let calls = answer["tool_calls"].as_array().cloned().unwrap_or_default();
            if calls.is_empty() {
                let text = answer["content"].as_str().unwrap_or_default();
                say(&format!("stand-in: {text}\n"));
                return Ok(());
            }
            for call in calls {
                let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
                let result = look_up(arguments["order"].as_u64().unwrap_or_default());
                messages
                    .push(json!({"role": "tool", "tool_call_id": call["id"], "content": result}));
            }
        }
    }

    async fn call(&self, messages: &[Value]) -> Result<Value, String> {
        let body = json!({"model": "gpt-4o", "max_completion_tokens": 100, "messages": messages});
        let request = Request::post(&self.address)
            .header("content-type", "application/json")
            .header("x-cupel-conversation", "demo")
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(|error| error.to_string())?;
        let response =
            self.client.request(request).await.map_err(|error| format!("no answer: {error}"))?;
        let status = response.status();
        let header = |name: &str| {
            let value = response.headers().get(name);
            value.and_then(|value| value.to_str().ok()).unwrap_or("-").to_owned()
        };
        let (tokens, report) = (header("x-cupel-tokens"), header("x-cupel-report"));
        say(&format!(
            "  call with {} messages: {tokens} tokens sent, report {report}\n",
            messages.len()
        ));
        let body = response.into_body().collect().await.map_err(|error| error.to_string())?;
        let mut answer: Value =
            serde_json::from_slice(&body.to_bytes()).map_err(|error| error.to_string())?;
        if !status.is_success() {
            return Err(format!("{status}: {answer}"));
        }
        let message = answer.pointer_mut("/choices/0/message").map(Value::take);
        message.ok_or_else(|| format!("no message in {answer}"))
    }
}

/// The tool: long records, most of which nobody asked for.
fn look_up(order: u64) -> String {
    let stations = ["Lyon", "Basel", "Ulm", "Graz", "Brno"];
    let at = |step: u64| {
        let index = usize::try_from((order + step) % 5).unwrap_or_default();
        stations.get(index).copied().unwrap_or("Lyon")
    };
    let mut record =
        format!("order {order} was packed on day {} and is now in {}. ", order * 3, at(0));
    for step in 1..=10 {
        record +=
            &format!("Station {step}: scanned in {} by reader {}. ", at(step), order * 100 + step);
    }
    record
}
