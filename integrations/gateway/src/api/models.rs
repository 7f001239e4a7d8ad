//! The list of models of several upstreams, as one.

use bytes::Bytes;
use futures::future::join_all;
use http::HeaderValue;
use http::request::Parts;
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::route;
use crate::answer::{Body, Refusal, json_response};
use crate::config::{self, Protocol, Upstream, UpstreamKey};
use crate::gateway::Shared;
use crate::proxy::Target;

/// More than any list takes.
const ANSWER_BYTES: usize = 4 << 20;

/// Upstreams that are asked: those that speak the client's protocol, and those that are not shown its key.
pub(super) fn asked<'a>(shared: &'a Shared, parts: &Parts) -> Vec<&'a Upstream> {
    let protocol = route::protocol(parts);
    let speaks = |one: &Upstream| one.protocol.is_none_or(|own| own == protocol);
    let asked = |one: &&Upstream| speaks(one) || one.key != UpstreamKey::Client;
    shared.config.upstreams.iter().filter(asked).collect()
}

/// Answers with the models of all upstreams that are asked, each only where it would be sent to.
pub(super) async fn answer(
    shared: &Shared,
    parts: &Parts,
    asked: Vec<&Upstream>,
) -> Result<Response<Body>, Refusal> {
    let protocol = route::protocol(parts);
    let lists = join_all(asked.iter().map(|upstream| list(shared, upstream, parts))).await;
    if lists.iter().all(Option::is_none) {
        let message = "no upstream gave a list of its models";
        return Err(Refusal::new(StatusCode::BAD_GATEWAY, "upstream_unreachable", message));
    }
    let mut data = Vec::new();
    for (upstream, list) in asked.into_iter().zip(lists) {
        for model in list.into_iter().flatten() {
            let Some(id) = model.get("id").and_then(Value::as_str) else { continue };
            let to = config::route(&shared.config.upstreams, protocol, Some(id));
            if to.is_some_and(|to| std::ptr::eq(to, upstream)) {
                data.push(entry(protocol, upstream, id, &model));
            }
        }
    }
    let json = match protocol {
        Protocol::OpenAi => json!({"object": "list", "data": data}),
        Protocol::Anthropic => {
            let id = |model: Option<&Value>| model.and_then(|model| model.get("id")).cloned();
            let (first, last) = (id(data.first()), id(data.last()));
            json!({"data": data, "has_more": false, "first_id": first, "last_id": last})
        }
    };
    Ok(json_response(StatusCode::OK, &json))
}

/// A model in the shape of the client's protocol.
fn entry(protocol: Protocol, upstream: &Upstream, id: &str, model: &Value) -> Value {
    match protocol {
        Protocol::OpenAi if model.get("object").is_some() => model.clone(),
        Protocol::Anthropic if model.get("type").is_some() => model.clone(),
        Protocol::OpenAi => {
            json!({"id": id, "object": "model", "created": 0, "owned_by": upstream.name})
        }
        Protocol::Anthropic => {
            let created = "1970-01-01T00:00:00Z";
            json!({"id": id, "type": "model", "display_name": id, "created_at": created})
        }
    }
}

/// The models of one upstream; none where it does not say.
async fn list(shared: &Shared, upstream: &Upstream, parts: &Parts) -> Option<Vec<Value>> {
    #[derive(Deserialize)]
    struct List {
        data: Option<Vec<Value>>,
    }
    let mut parts = parts.clone();
    let path = match upstream.protocol.unwrap_or(route::protocol(&parts)) {
        Protocol::Anthropic => {
            let version = HeaderValue::from_static("2023-06-01");
            parts.headers.entry("anthropic-version").or_insert(version);
            "/models?limit=1000"
        }
        Protocol::OpenAi => {
            parts.headers.remove("anthropic-version");
            "/models"
        }
    };
    let target = Target { upstream, path };
    let asking = shared.client.read(&target, &parts, Bytes::new(), ANSWER_BYTES);
    // One that is slow keeps the others from nobody.
    let read = tokio::time::timeout(shared.config.limits.selection_time, asking).await;
    let list = read.ok().flatten().map(|List { data }| data.unwrap_or_default());
    if list.is_none() {
        tracing::warn!(upstream = upstream.name, "no list of models");
    }
    list
}
