//! An agent over rig's own OpenAI client, against a server on this machine.

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
use rig_core::driver::DynModel;
use rig_core::operation::Completion;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::transcript::validate_canonical;
use rig_core::{Model, message::Message};
use rig_reqwest::{ReqwestClient, reqwest};
use serde_json::{Value, json};
use tower::ServiceBuilder;

use crate::recorder::{self, Recorder};
use crate::run::{ALL, Mode, PREAMBLE, QUESTION, Seen, Way, budget, finish, is_question, layer};
use crate::support::record::Record;
use crate::support::tools::ReadPage;
use crate::support::word_count;

const TURNS: usize = 10;
const ROOM: i64 = 320;
const ANSWER: &str = "The keeper tells it.";

/// A provider that calls the tool ten times and answers then.
#[derive(Clone, Default)]
struct Provider {
    turn: Arc<AtomicUsize>,
    bodies: Record<Value>,
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
fn texts(body: &Value) -> Vec<String> {
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    };
    body["messages"].as_array().unwrap().iter().map(text).collect()
}

async fn serve(provider: Provider) -> DynModel<Completion> {
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

fn agent(way: Option<Way>, model: DynModel<Completion>, seen: &Seen) -> Agent {
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

#[tokio::test]
async fn without_the_layer_the_provider_refuses_the_third_turn() {
    for mode in [Mode::Whole, Mode::Streamed] {
        let provider = Provider::default();
        let agent = agent(None, serve(provider.clone()).await, &Seen::default());
        let error = finish(agent.prompt(QUESTION).max_turns(20), mode).await.unwrap_err();
        assert!(error.to_string().contains("exceed the window"), "{error}");
        assert_eq!(provider.bodies.all().len(), 3);
    }
}

#[tokio::test]
async fn with_it_ten_turns_run_to_the_answer() {
    for (way, mode) in ALL {
        let provider = Provider::default();
        let seen = Seen::default();
        let agent = agent(Some(way), serve(provider.clone()).await, &seen);
        let response = finish(agent.prompt(QUESTION).max_turns(20), mode)
            .await
            .unwrap_or_else(|error| panic!("{way:?}, {mode:?}: {error}"));
        assert_eq!(response.output(), ANSWER);

        let sent = seen.sent.all();
        assert_eq!(sent.len(), TURNS + 1);
        for request in &sent {
            validate_canonical(&request.chat_history).unwrap();
            assert_eq!(request.chat_history[0], Message::system(PREAMBLE));
            assert!(request.chat_history.iter().any(is_question));
        }
        let bodies = provider.bodies.all();
        assert_eq!(bodies.len(), TURNS + 1);
        for (request, body) in sent.iter().zip(&bodies) {
            assert!(texts(body).iter().any(|text| text == QUESTION));
            assert_eq!(body["tools"].as_array().unwrap().len(), 1);
            // rig had nothing to repair: what arrived is what was sent.
            assert_eq!(body["messages"].as_array().unwrap().len(), request.chat_history.len());
            assert!(!body.to_string().contains("No result provided"));
        }
        assert!(seen.selections.all()[TURNS].report.excluded.len() > 3);
    }
}

/// Every turn has one `chat` span, opened by the agent and adopted by the provider's client, which
/// writes the usage on it. The selection is inside, whichever way the layer came in.
#[tokio::test]
async fn the_agents_spans_stay_whole() {
    // Met once before anybody listens: a place in the code that another test is just then meeting
    // for the first time would not hear of the recorder.
    for (way, mode) in ALL {
        let agent = agent(Some(way), serve(Provider::default()).await, &Seen::default());
        finish(agent.prompt(QUESTION).max_turns(20), mode).await.unwrap();
    }
    for (way, mode) in ALL {
        let (recorder, _guard) = Recorder::on_this_thread();
        let agent = agent(Some(way), serve(Provider::default()).await, &Seen::default());
        finish(agent.prompt(QUESTION).max_turns(20), mode).await.unwrap();
        let paths = recorder.paths();
        let count = |path: &str| paths.iter().filter(|found| *found == path).count();
        for path in ["invoke_agent > chat", "invoke_agent > chat > cupel.selection"] {
            assert_eq!(count(path), TURNS + 1, "{way:?}, {mode:?}: {path}");
        }
        recorder.read(|recorded| {
            let chats = recorded.spans.iter().filter(|span| span.name == "chat");
            assert_eq!(chats.clone().count(), TURNS + 1);
            for chat in chats {
                assert_eq!(chat.fields["gen_ai.request.model"], "gpt-4o".into());
                let usage = chat.fields.get("gen_ai.usage.output_tokens");
                assert_eq!(
                    usage,
                    Some(&recorder::Value::U64(5)),
                    "{way:?}, {mode:?}: {:?}",
                    chat.fields
                );
            }
            let selections = recorded.spans.iter().filter(|span| span.name == "cupel.selection");
            for selection in selections {
                assert!(selection.fields.contains_key("cupel.tokens.sent"));
            }
        });
    }
}
