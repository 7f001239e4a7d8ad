//! Answers in the shapes of both APIs, whole or as server-sent events.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;
use futures::stream::{self, BoxStream, StreamExt};
use serde_json::{Value, json};

use super::{Asked, problem, tokens};

/// Answer of the model.
pub enum Reply {
    /// A text; word by word if the request asks for a stream.
    Text(String),
    /// Calls of tools, by name and arguments.
    Calls(Vec<(String, Value)>),
    /// An error.
    Status(u16, String),
    /// Raw events.
    Events(BoxStream<'static, Bytes>),
    /// No answer at all.
    Silence,
}

pub fn respond(asked: &Asked, reply: Reply) -> Response {
    let is_chat = asked.path == "/chat/completions";
    let streamed = asked.json["stream"] == true;
    match reply {
        Reply::Status(status, message) => {
            problem(StatusCode::from_u16(status).expect("a status"), &message)
        }
        Reply::Silence => {
            let never = stream::pending::<Result<Bytes, Infallible>>();
            Response::new(Body::from_stream(never))
        }
        Reply::Events(events) => events_response(events),
        Reply::Text(text) if streamed => {
            let words: Vec<String> = text.split_inclusive(' ').map(str::to_owned).collect();
            let events: Vec<Bytes> = match is_chat {
                true => words
                    .iter()
                    .map(|word| chat_event(word))
                    .chain([chunk(&json!({}), &json!("stop")), done()])
                    .collect(),
                false => words.iter().map(|word| response_event(word)).collect(),
            };
            events_response(stream::iter(events).boxed())
        }
        Reply::Text(text) => {
            let message = json!({"role": "assistant", "content": text, "refusal": null});
            let item = json!({"type": "message", "id": "msg_1", "role": "assistant",
                "status": "completed", "content": [
                    {"type": "output_text", "text": text, "annotations": [], "logprobs": []}]});
            if is_chat { chat(asked, &message, "stop") } else { response(asked, &[item]) }
        }
        Reply::Calls(calls) => {
            let id = |index: usize| format!("call_{}_{index}", asked.earlier);
            if is_chat {
                let calls: Vec<Value> = calls
                    .iter()
                    .enumerate()
                    .map(|(index, (name, arguments))| {
                        json!({"id": id(index), "type": "function",
                        "function": {"name": name, "arguments": arguments.to_string()}})
                    })
                    .collect();
                let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
                chat(asked, &message, "tool_calls")
            } else {
                let calls: Vec<Value> = calls
                    .iter()
                    .enumerate()
                    .map(|(index, (name, arguments))| {
                        json!({"type": "function_call", "id": format!("fc_{}", id(index)),
                        "call_id": id(index), "name": name, "status": "completed",
                        "arguments": arguments.to_string()})
                    })
                    .collect();
                response(asked, &calls)
            }
        }
    }
}

fn chat(asked: &Asked, message: &Value, finish: &str) -> Response {
    let prompt = tokens::chat(&asked.json);
    let answer = tokens::text(&asked.json, &message.to_string());
    json_response(&json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": asked.json["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": null}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": answer,
            "total_tokens": prompt + answer},
    }))
}

fn response(asked: &Asked, output: &[Value]) -> Response {
    json_response(&json!({
        "id": "resp_1", "object": "response", "created_at": 1, "status": "completed",
        "model": asked.json["model"], "output": output,
    }))
}

fn json_response(json: &Value) -> Response {
    let mut response = Response::new(Body::from(json.to_string()));
    response.headers_mut().insert("content-type", "application/json".parse().expect("a header"));
    response
}

fn events_response(events: BoxStream<'static, Bytes>) -> Response {
    let mut response = Response::new(Body::from_stream(events.map(Ok::<_, Infallible>)));
    response.headers_mut().insert("content-type", "text/event-stream".parse().expect("a header"));
    response
}

/// A chunk of a chat completion.
pub fn chat_event(text: &str) -> Bytes {
    chunk(&json!({"content": text}), &Value::Null)
}

fn chunk(delta: &Value, finish: &Value) -> Bytes {
    let chunk = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": null}],
    });
    Bytes::from(format!("data: {chunk}\n\n"))
}

/// A piece of a response's text.
pub fn response_event(text: &str) -> Bytes {
    let event = json!({
        "type": "response.output_text.delta", "sequence_number": 1, "item_id": "msg_1",
        "output_index": 0, "content_index": 0, "delta": text, "logprobs": [],
    });
    Bytes::from(format!("event: response.output_text.delta\ndata: {event}\n\n"))
}

/// The end of a chat completion.
pub fn done() -> Bytes {
    Bytes::from_static(b"data: [DONE]\n\n")
}
