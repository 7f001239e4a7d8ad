//! Requests: checked, routed and answered.

mod body;
mod chat;
mod models;
mod route;

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;

use crate::answer::{Body, Refusal, json_response};
use crate::calls::milliseconds;
use crate::config::only_upstream;
use crate::proxy::{AnswerEnd, Payload, Tap, Target};
use crate::server::ConnectionEnds;
use crate::shared::Shared;
use crate::{guard, page};
use route::{ModelPlace, Route};

/// Answers a request; `ends` are the two ends of its connection.
pub(crate) async fn answer(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    ends: ConnectionEnds,
) -> Response<Body> {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let route = Route::of(&parts);
    let answered = match guard::check(&parts, &shared.hosts, ends.reached) {
        Ok(()) => serve(&shared, route, &parts, body, started, ends).await,
        Err(refusal) => Err(refusal),
    };
    answered.unwrap_or_else(|refusal| {
        tracing::info!(
            route = route.name(),
            status = refusal.status,
            refused = refusal.code,
            milliseconds = milliseconds(started.elapsed()),
        );
        refusal.into_response(route.error_shape(&parts))
    })
}

async fn serve(
    shared: &Arc<Shared>,
    route: Route,
    parts: &Parts,
    body: Incoming,
    started: Instant,
    ends: ConnectionEnds,
) -> Result<Response<Body>, Refusal> {
    match route {
        Route::Liveness => return Ok(json_response(200, &json!({"status": "ok"}))),
        Route::Readiness => return Ok(readiness(shared)),
        _ if ends.is_for_health => {
            let message = "the gateway has its maximum of connections; try again";
            return Err(Refusal::new(503, "busy", message).retry_after());
        }
        Route::Page => return page::answer(shared, parts, body, ends.client).await,
        Route::Select(_) | Route::Models | Route::Pass => {}
    }
    guard::check_key(&shared.config.keys, &parts.headers)?;
    match route {
        Route::Select(endpoint) => chat::answer(shared, endpoint, parts, body, started).await,
        Route::Models => match models::upstreams(&shared.config, parts) {
            upstreams if upstreams.len() > 1 => models::answer(shared, parts, upstreams).await,
            _ => pass(shared, parts, body, started).await,
        },
        _ => pass(shared, parts, body, started).await,
    }
}

fn readiness(shared: &Shared) -> Response<Body> {
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
    shared: &Arc<Shared>,
    parts: &Parts,
    body: Incoming,
    started: Instant,
) -> Result<Response<Body>, Refusal> {
    let limits = &shared.config.limits;
    let place = route::model_place(parts);
    let is_routed = only_upstream(&shared.config.upstreams).is_none();
    let mut model = None;
    // The permit of a body is kept until the body is sent.
    let mut held = None;
    let payload = match place {
        ModelPlace::Json | ModelPlace::Form if is_routed => {
            let read = body::read(shared, body).await?;
            let payload = Payload::Whole(read.bytes.clone());
            let (plain, true) = body::decompress(shared, &parts.headers, read).await? else {
                return Err(body::unknown_encoding());
            };
            model = match place {
                ModelPlace::Form => route::model_in_form(&parts.headers, &plain.bytes)?,
                // Only an object can name a model.
                _ if plain.bytes.trim_ascii_start().first() != Some(&b'{') => None,
                _ => route::model_in_body(plain.bytes.clone()).await?,
            };
            held = Some(plain);
            payload
        }
        _ if body.is_end_stream() => Payload::Whole(Bytes::new()),
        _ => Payload::Stream(Tap::upload(body, limits.stall_time).boxed_unsync()),
    };
    if let ModelPlace::Path(name) = place {
        model = Some(guard::decoded(name));
    }
    let upstream = route::upstream(&shared.config, parts, model.as_deref())?;
    route::check_open_route(&shared.config, upstream, parts)?;
    let target = Target { upstream, path: route::upstream_path(parts) };
    let answer = shared.client.send(&target, parts, payload).await?;
    drop(held);
    let status = answer.status().as_u16();
    let on_end = move |end: AnswerEnd| {
        tracing::info!(
            route = "pass",
            status,
            end = end.reason.name(),
            bytes = end.bytes,
            milliseconds = milliseconds(started.elapsed()),
        );
    };
    Ok(shared.pass_answer(answer, false, on_end))
}
