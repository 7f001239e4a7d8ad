//! Requests: checked, routed and answered.

mod body;
mod chat;
mod fit;
mod key_check;
mod models;
mod route;

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, Method, Request, Response};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;

use crate::answer::{Body, MODEL_CHARACTERS, Refusal, full, json_response, visible};
use crate::config::{ClientKey, only_upstream};
use crate::gateway_state::GatewayState;
use crate::guard::{self, ConnectionEnds};
use crate::page;
use crate::proxy::{AnswerEnd, Tap};
use crate::request_record::{RequestEnd, RequestRecord, client_address};
use key_check::{admit, check_model};
use route::{ModelPlace, Route};

/// Answers a request; `ends` are the two ends of its connection.
pub(crate) async fn answer(
    shared: Arc<GatewayState>,
    request: Request<Incoming>,
    ends: ConnectionEnds,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let route = Route::of(&parts);
    let trusted = &shared.config.access_log.trusted_proxies;
    let client = client_address(&parts.headers, ends.client, trusted);
    let has_messages = matches!(route, Route::Select(_));
    let sinks = shared.sinks();
    let record = RequestRecord::begin(&parts, client, route.name(), sinks, has_messages);
    let answered = match guard::check(&parts, &shared.hosts, ends.reached) {
        Ok(()) => serve(&shared, route, &parts, body, &record, ends).await,
        Err(refusal) => Err(refusal),
    };
    let mut response = answered.unwrap_or_else(|refusal| {
        record.refused(refusal.status, refusal.code);
        refusal.into_response(route.error_shape(&parts))
    });
    record.answered_here(response.status().as_u16());
    record.name_in(response.headers_mut());
    response
}

async fn serve(
    shared: &Arc<GatewayState>,
    route: Route,
    parts: &Parts,
    body: Incoming,
    record: &Arc<RequestRecord>,
    ends: ConnectionEnds,
) -> Result<Response<Body>, Refusal> {
    let mut key = None;
    if matches!(route, Route::Select(_) | Route::Models | Route::Pass) && !ends.is_for_health {
        key = guard::check_key(&shared.config.keys, &parts.headers)?;
        if let Some(key) = key {
            record.key(&key.name, key.tokens_per_minute.is_some());
            admit(shared, key, parts)?;
        }
    }
    match route {
        Route::Liveness => Ok(json_response(200, &json!({"status": "ok"}))),
        Route::Readiness => Ok(readiness(shared)),
        _ if ends.is_for_health => {
            let message = "the gateway has its maximum of connections; try again";
            Err(Refusal::new(503, "busy", message).retry_after())
        }
        Route::Metrics => {
            let message = "metrics are served on the address of `metrics.listen`, if it is set";
            Err(Refusal::new(404, "no_metrics_here", message))
        }
        Route::Page => page::answer(shared, parts, body, ends.client).await,
        Route::Select(endpoint) => {
            let answered = chat::answer(shared, endpoint, parts, body, (record, key));
            match record.span() {
                Some(span) => span.within(answered).await,
                None => answered.await,
            }
        }
        Route::Models if models::upstreams(&shared.config, parts).len() > 1 => {
            models::answer(shared, parts).await
        }
        Route::Models | Route::Pass => pass(shared, parts, body, (record, key)).await,
    }
}

fn readiness(shared: &GatewayState) -> Response<Body> {
    let (status, word) = match *shared.stopping.borrow() {
        true => (503, "stopping"),
        false => (200, "ok"),
    };
    #[cfg(feature = "archive")]
    if let Some(memory) = &shared.memory {
        return json_response(status, &json!({"status": word, "archive": memory.status()}));
    }
    json_response(status, &json!({"status": word}))
}

/// Sends a request on unchanged. Its body is read only if the model in it decides the upstream.
async fn pass(
    shared: &Arc<GatewayState>,
    parts: &Parts,
    body: Incoming,
    (record, key): (&Arc<RequestRecord>, Option<&ClientKey>),
) -> Result<Response<Body>, Refusal> {
    let place = route::model_place(parts);
    let is_routed = only_upstream(&shared.config.upstreams).is_none()
        || key.is_some_and(|key| !key.models.is_empty());
    let mut model = None;
    // The permit of a body is kept until the body is sent.
    let mut held = None;
    let body = match place {
        ModelPlace::Json | ModelPlace::Form if is_routed => {
            let read = body::read(shared, &parts.headers, body).await?;
            if !read.is_readable {
                return Err(body::unknown_encoding());
            }
            model = match place {
                ModelPlace::Form => route::model_in_form(&parts.headers, &read.bytes)?,
                // Only an object can name a model.
                _ if read.bytes.trim_ascii_start().first() != Some(&b'{') => None,
                _ => route::model_in_body(read.bytes.clone()).await?,
            };
            full(held.insert(read).original.clone())
        }
        _ if body.is_end_stream() => full(""),
        _ => Tap::upload(body, shared.config.limits.stall_time).boxed_unsync(),
    };
    if let ModelPlace::Path(name) = place {
        model = Some(guard::decoded(name));
    }
    if let Some(model) = &model {
        record.model(&visible(model, MODEL_CHARACTERS));
    }
    if !matches!(place, ModelPlace::Nowhere) {
        check_model(key, model.as_deref())?;
    }
    let upstream = route::upstream(&shared.config, parts, model.as_deref())?;
    route::check_open_route(&shared.config, upstream, parts)?;
    let target = (upstream, route::upstream_path(parts));
    record.sending(&upstream.name);
    let mut answer = shared.client.send(target, parts, body).await?;
    drop(held);
    record.answering();
    let status = answer.status().as_u16();
    let record = Arc::clone(record);
    let on_end = move |end: AnswerEnd| {
        let AnswerEnd { reason, bytes, usage, .. } = end;
        record.end(RequestEnd { status, reason: reason.name(), bytes, usage });
    };
    // Requests that ask a model something could be fitted; clients may expect it.
    if parts.method == Method::POST {
        let why =
            HeaderValue::from_static("endpoint: the gateway fits no requests of this endpoint");
        answer.headers_mut().insert("x-cupel-passed", why);
    }
    Ok(shared.pass_answer(answer, false, on_end))
}
