//! The list of models of several upstreams, as one.

use bytes::Bytes;
use futures::future::join_all;
use http::request::Parts;
use http::{HeaderValue, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::route;
use crate::answer::{Body, Refusal, json_response};
use crate::config::{Config, Protocol, Upstream, UpstreamKey, find_upstream};
use crate::gateway_state::GatewayState;

/// Longest list that is read.
const ANSWER_BYTES: usize = 4 << 20;

/// Finds the upstreams to ask: those of the client's protocol, and those that do not get its key.
pub(super) fn upstreams<'a>(config: &'a Config, parts: &Parts) -> Vec<&'a Upstream> {
    let protocol = route::protocol(parts);
    let is_asked = |one: &&Upstream| {
        one.protocol.is_none_or(|own| own == protocol) || one.key != UpstreamKey::Client
    };
    config.upstreams.iter().filter(is_asked).collect()
}

/// Merges the lists. A model is listed only for the upstream that gets its requests.
pub(super) async fn answer(
    shared: &GatewayState,
    parts: &Parts,
) -> Result<Response<Body>, Refusal> {
    let protocol = route::protocol(parts);
    let upstreams = upstreams(&shared.config, parts);
    let lists = join_all(upstreams.iter().map(|upstream| list(shared, upstream, parts))).await;
    if lists.iter().all(Option::is_none) {
        let message = "no upstream gave a list of its models";
        return Err(Refusal::new(502, "upstream_unreachable", message));
    }
    let mut data = Vec::new();
    for (upstream, list) in upstreams.into_iter().zip(lists) {
        for model in list.into_iter().flatten() {
            let Some(id) = model.get("id").and_then(Value::as_str) else { continue };
            let to = find_upstream(&shared.config.upstreams, protocol, Some(id));
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
    Ok(json_response(200, &json))
}

/// Writes a model in the shape of the client's protocol.
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

/// Reads the models of one upstream; `None` if it gives no list in time.
async fn list(shared: &GatewayState, upstream: &Upstream, parts: &Parts) -> Option<Vec<Value>> {
    #[derive(Deserialize)]
    struct ModelList {
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
    let reading = shared.client.read((upstream, path), &parts, Bytes::new(), ANSWER_BYTES);
    let read = tokio::time::timeout(shared.config.limits.selection_time, reading).await;
    let list = read.ok().and_then(Result::ok).map(|ModelList { data }| data.unwrap_or_default());
    if list.is_none() {
        tracing::warn!(upstream = upstream.name, "upstream gave no list of models");
    }
    list
}
