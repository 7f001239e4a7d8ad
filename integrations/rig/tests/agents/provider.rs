//! A provider on this machine, and an agent that asks it through rig's own OpenAI client.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use cupel_rig::{AgentBuilderExt as _, CupelHook};
use rig_agent::{Agent, AgentBuilder};
use rig_core::Model;
use rig_core::driver::DynModel;
use rig_core::operation::Completion;
use rig_core::providers::openai::OpenAIConfig;
use rig_reqwest::{ReqwestClient, reqwest};
use serde_json::{Value, json};
use tower::ServiceBuilder;

use crate::run::{PREAMBLE, Seen, Way, budget, layer};
use crate::support::record::Record;
use crate::support::tools::ReadPage;
use crate::support::word_count;

pub(crate) const TURNS: usize = 10;
const ROOM: i64 = 320;
pub(crate) const ANSWER: &str = "The keeper tells it.";

/// A provider that calls the tool ten times and answers then.
#[derive(Clone, Default)]
pub(crate) struct Provider {
    turn: Arc<AtomicUsize>,
    pub(crate) bodies: Record<Value>,
}

async fn completions(State(provider): State<Provider>, Json(body): Json<Value>) -> Response {
    let size: i64 = texts(&body).iter().map(|text| word_count(text)).sum();
    provider.bodies.add(body.clone());
    if size > ROOM {
        let error = json!({ "error": { "message": format!("{size} tokens exceed the window") } });
        return (StatusCode::BAD_REQUEST, Json(error)).into_response();
    }
    let turn = provider.turn.fetch_add(1, Ordering::Relaxed) + 1;
    let (message, reason) = match turn {
        ..=TURNS => (
            json!({ "role": "assistant", "content": null, "tool_calls": [{
                "index": 0, "id": format!("call_{turn}"), "type": "function",
                "function": { "name": "read_page", "arguments": json!({ "page": turn }).to_string() },
            }] }),
            "tool_calls",
        ),
        _ => (json!({ "role": "assistant", "content": ANSWER }), "stop"),
    };
    answer(&body, &message, reason, size)
}

/// A message as the API sends it: whole, or in the events of a stream.
pub(crate) fn answer(body: &Value, message: &Value, reason: &str, size: i64) -> Response {
    let head = json!({ "id": "chat_1", "created": 1, "model": "gpt-4o" });
    let usage = json!({ "prompt_tokens": size, "completion_tokens": 5, "total_tokens": size + 5 });
    if body["stream"] == json!(true) {
        let chunk = |choices: Value, usage: &Value| {
            let mut chunk = head.clone();
            chunk["object"] = json!("chat.completion.chunk");
            chunk["choices"] = choices;
            chunk["usage"] = usage.clone();
            format!("data: {chunk}\n\n")
        };
        let choice = |delta: &Value, reason: Value| {
            chunk(json!([{ "index": 0, "delta": delta, "finish_reason": reason }]), &Value::Null)
        };
        let events = [
            choice(message, Value::Null),
            choice(&json!({}), json!(reason)),
            chunk(json!([]), &usage),
            "data: [DONE]\n\n".to_owned(),
        ];
        return ([(header::CONTENT_TYPE, "text/event-stream")], events.concat()).into_response();
    }
    let mut whole = head;
    whole["object"] = json!("chat.completion");
    whole["choices"] = json!([{ "index": 0, "message": message, "finish_reason": reason }]);
    whole["usage"] = usage;
    Json(whole).into_response()
}

/// The texts of all messages of a body.
pub(crate) fn texts(body: &Value) -> Vec<String> {
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    };
    body["messages"].as_array().unwrap().iter().map(text).collect()
}

pub(crate) async fn serve(provider: Provider) -> DynModel<Completion> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/v1/chat/completions", post(completions)).with_state(provider);
    tokio::spawn(async move { axum::serve(listener, app).await });
    model_at(address)
}

/// A model behind rig's own client.
pub(crate) fn model_at(address: SocketAddr) -> DynModel<Completion> {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let config = OpenAIConfig::new("no-key").with_base_url(format!("http://{address}/v1"));
    Model::new(config.chat("gpt-4o"), ReqwestClient::from(client)).erase()
}

pub(crate) fn agent(way: Option<Way>, model: DynModel<Completion>, seen: &Seen) -> Agent {
    let builder = AgentBuilder::new(model.clone()).preamble(PREAMBLE).tool(ReadPage);
    let layer = layer(budget(ROOM), seen);
    match way {
        None => builder.build(),
        Some(Way::Stack) => {
            let stack = ServiceBuilder::new().layer(layer).layer(seen.sent.clone());
            builder.build_through(stack, model)
        }
        Some(Way::Hook) => {
            builder.add_hook(CupelHook::new(layer)).add_hook(seen.sent.clone()).build()
        }
    }
}
