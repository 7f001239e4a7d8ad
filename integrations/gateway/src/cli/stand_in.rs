//! Server that stands in for a model: it follows rules, and sees only the messages that it gets.

#![allow(
    clippy::indexing_slicing,
    reason = "only JSON values are indexed, and a missing field is null"
)]

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use cupel::ContextItem;
use cupel::layer::{ContextAdapter as _, Strategy};
use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
use http::{Request, Response};
use http_body_util::{BodyExt, Collected, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

use super::output::listen;

/// Starts the server on a free port of the loopback address.
pub(super) async fn start() -> Result<SocketAddr, String> {
    let (listener, address) = listen(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
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
    let body = request.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = think(&asked);
    let tokens = tokens(&body);
    let answer = json!({
        "id": "chatcmpl-demo", "object": "chat.completion", "created": 0, "model": asked["model"],
        "system_fingerprint": "a scripted stand-in, no model",
        "choices": [{"index": 0, "message": message, "logprobs": null,
            "finish_reason": "stop"}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20},
    });
    Ok(Response::new(Full::new(Bytes::from(answer.to_string()))))
}

/// Counts tokens as the gateway does.
fn tokens(body: &[u8]) -> i64 {
    let text = String::from_utf8_lossy(body);
    let body = JsonBody::parse(Endpoint::Chat, text.as_ref());
    let split = body.and_then(|body| OpenAiAdapter::new().split(body, Strategy::Planned).ok());
    split.map_or(0, |split| {
        let messages = split.candidates.iter().map(ContextItem::tokens);
        messages.fold(split.fixed_tokens, i64::saturating_add)
    })
}

/// Repeats the sentence about the order of the last question, if it is in a message.
fn think(asked: &Value) -> Value {
    let messages = asked["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let question = messages.iter().rev().find(|message| message["role"] == "user").map(text);
    let question = question.unwrap_or_default();
    // The gateway puts standing orders and recalled messages before the question.
    let question = question.rsplit("</standing>").next().unwrap_or_default();
    let question = question.rsplit("</recalled>").next().unwrap_or_default().trim_start();
    let users = messages.iter().filter(|message| message["role"] == "user");
    let named = users.map(text).any(|text| text.contains("call me Ada"));
    let name = if named { "Ada, " } else { "" };
    if !question.contains("order ") {
        return json!({"role": "assistant", "content": format!("{name}all right.")});
    }
    let order = question.split("order ").nth(1).and_then(|rest| rest.split(' ').next());
    let order = order.unwrap_or_default();
    let known = format!("order {order} was packed");
    let seen = messages.iter().map(text).find_map(|text| {
        let at = text.find(&known)?;
        Some(text.get(at..)?.split('.').next().unwrap_or_default().to_owned())
    });
    let said = match seen {
        Some(seen) => format!("{name}I can see it: {seen}."),
        None => format!("{name}I cannot see order {order} any more."),
    };
    json!({"role": "assistant", "content": said})
}

fn text(message: &Value) -> String {
    let parts = message["content"].as_array().into_iter().flatten();
    let parts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    message["content"].as_str().map_or_else(|| parts.join("\n"), str::to_owned)
}
