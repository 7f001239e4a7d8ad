//! A server that stands in for a model: it follows rules, and knows nothing but what it is sent.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use cupel::ContextItem;
use cupel::layer::{ContextAdapter as _, Strategy};
use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Starts it on a free port of the loopback address.
pub(super) async fn start() -> Result<SocketAddr, String> {
    let listener =
        TcpListener::bind("127.0.0.1:0").await.map_err(|error| format!("no port: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let connection =
                http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
            tokio::spawn(connection);
        }
    });
    Ok(address)
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request
        .into_body()
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = think(&asked);
    let calls = !message["tool_calls"].is_null();
    let tokens = tokens(&body);
    let answer = json!({
        "id": "chatcmpl-demo", "object": "chat.completion", "created": 0, "model": asked["model"],
        "system_fingerprint": "a scripted stand-in, no model",
        "choices": [{"index": 0, "message": message, "logprobs": null,
            "finish_reason": if calls { "tool_calls" } else { "stop" }}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20},
    });
    let mut response = Response::new(Full::new(Bytes::from(answer.to_string())));
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    Ok(response)
}

/// It has no tokenizer of its own, and counts as the gateway does.
fn tokens(body: &[u8]) -> i64 {
    let text = String::from_utf8_lossy(body);
    let body = JsonBody::parse(Endpoint::Chat, text.as_ref());
    let split = body.and_then(|body| OpenAiAdapter::new().split(body, Strategy::Planned).ok());
    split.map_or(0, |split| {
        let messages = split.candidates.iter().map(ContextItem::tokens);
        messages.fold(split.fixed_tokens, i64::saturating_add)
    })
}

/// The rules: look up what is asked for, unless it can be seen; and say what can be seen.
fn think(asked: &Value) -> Value {
    let messages = asked["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = || messages.iter().map(text);
    let question = messages.iter().rev().find(|message| message["role"] == "user").map(text);
    let question = question.unwrap_or_default();
    // What the gateway recalls stands before the question.
    let question = question.rsplit("</recalled>").next().unwrap_or_default().trim_start();
    let order = number_after(question, "order ").unwrap_or_default();
    let known = format!("order {order} was packed");
    let seen = texts().find_map(|text| {
        let at = text.find(&known)?;
        Some(text.get(at..)?.split('.').next().unwrap_or_default().to_owned())
    });
    match seen {
        Some(seen) => json!({"role": "assistant", "content": format!("I can see it: {seen}.")}),
        None if question.starts_with("Without") => {
            let said = format!("I cannot see order {order} any more.");
            json!({"role": "assistant", "content": said})
        }
        None => json!({"role": "assistant", "content": null, "tool_calls": [{
            "id": format!("call_{}_{order}", messages.len()), "type": "function",
            "function": {"name": "look_up", "arguments": json!({"order": order}).to_string()},
        }]}),
    }
}

fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        parts => parts
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|part| part["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn number_after(text: &str, word: &str) -> Option<u32> {
    let rest = text.split(word).nth(1)?;
    let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}
