//! Answers of the Messages API, whole or as its events, and its errors.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;
use futures::stream::{self, StreamExt};
use serde_json::{Value, json};

use super::super::Asked;
use super::super::answer::Reply;
use super::caches::Usage;
use super::{RefusedItem, count};

/// Answers a request that was not refused.
pub fn respond(asked: &Asked, reply: Reply, usage: Usage) -> Response {
    let streamed = asked.json["stream"] == true;
    let (blocks, stop) = match reply {
        Reply::Status(status, message) => {
            return problem(&RefusedItem { status, kind: name(status), message });
        }
        Reply::Silence => {
            let never = stream::pending::<Result<Bytes, Infallible>>();
            return Response::new(Body::from_stream(never));
        }
        Reply::Events(events) => return events_response(events.boxed()),
        Reply::Text(text) => (vec![json!({"type": "text", "text": text})], "end_turn"),
        Reply::Calls(calls) => {
            let call = |(at, (name, input)): (usize, (String, Value))| {
                let id = format!("toolu_{}_{at}", asked.earlier);
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            };
            (calls.into_iter().enumerate().map(call).collect(), "tool_use")
        }
    };
    let output: i64 = blocks.iter().map(|block| count::block(&asked.json, block)).sum();
    let usage = json!({"input_tokens": usage.new, "cache_read_input_tokens": usage.read,
        "cache_creation_input_tokens": usage.written, "output_tokens": output});
    let message = json!({"id": format!("msg_{}", asked.earlier), "type": "message",
        "role": "assistant", "model": asked.json["model"], "content": blocks,
        "stop_reason": stop, "stop_sequence": null, "usage": usage});
    if streamed {
        events_response(stream::iter(events(&message)).boxed())
    } else {
        json_response(StatusCode::OK, &message)
    }
}

/// The number that `count_tokens` gives.
pub fn counted(request: &Value) -> Response {
    json_response(StatusCode::OK, &json!({"input_tokens": count::request(request)}))
}

/// An error as the API words it.
pub fn problem(refused: &RefusedItem) -> Response {
    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::BAD_REQUEST);
    let error = json!({"type": "error", "request_id": "req_1",
        "error": {"type": refused.kind, "message": refused.message}});
    json_response(status, &error)
}

fn name(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}

/// A message as the events of a stream.
pub fn events(message: &Value) -> Vec<Bytes> {
    let event = |name: &str, data: Value| Bytes::from(format!("event: {name}\ndata: {data}\n\n"));
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let mut events = vec![
        event("message_start", json!({"type": "message_start", "message": start})),
        event("ping", json!({"type": "ping"})),
    ];
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        let mut empty = block.clone();
        let deltas: Vec<Value> = if block["type"] == "text" {
            empty["text"] = json!("");
            let words = block["text"].as_str().unwrap_or_default().split_inclusive(' ');
            words.map(|word| json!({"type": "text_delta", "text": word})).collect()
        } else {
            empty["input"] = json!({});
            vec![json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})]
        };
        let of = |name: &str, field: &str, value: Value| {
            event(name, json!({"type": name, "index": index, field: value}))
        };
        events.push(of("content_block_start", "content_block", empty));
        events.extend(deltas.into_iter().map(|delta| of("content_block_delta", "delta", delta)));
        events.push(event(
            "content_block_stop",
            json!({"type": "content_block_stop", "index": index}),
        ));
    }
    events.push(event(
        "message_delta",
        json!({"type": "message_delta", "usage": {"output_tokens": message["usage"]["output_tokens"]},
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": null}}),
    ));
    events.push(event("message_stop", json!({"type": "message_stop"})));
    events
}

fn json_response(status: StatusCode, json: &Value) -> Response {
    let mut response = Response::new(Body::from(json.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", "application/json".parse().expect("a header"));
    response.headers_mut().insert("request-id", "req_1".parse().expect("a header"));
    response
}

fn events_response(events: stream::BoxStream<'static, Bytes>) -> Response {
    let mut response = Response::new(Body::from_stream(events.map(Ok::<_, Infallible>)));
    response.headers_mut().insert("content-type", "text/event-stream".parse().expect("a header"));
    response
}
