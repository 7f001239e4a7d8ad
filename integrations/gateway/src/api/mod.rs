//! Requests: checked, routed and answered.

mod body;
mod chat;
mod models;
mod route;

use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;
use http::{Request, Response};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;

use crate::answer::{Body, Refusal, full, json_response};
use crate::calls::milliseconds;
use crate::config::only_upstream;
use crate::gateway_state::GatewayState;
use crate::guard::{self, ConnectionEnds};
use crate::page;
use crate::proxy::{AnswerEnd, Tap};
use route::{ModelPlace, Route};

/// Answers a request; `ends` are the two ends of its connection.
pub(crate) async fn answer(
    shared: Arc<GatewayState>,
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
    shared: &Arc<GatewayState>,
    route: Route,
    parts: &Parts,
    body: Incoming,
    started: Instant,
    ends: ConnectionEnds,
) -> Result<Response<Body>, Refusal> {
    if matches!(route, Route::Select(_) | Route::Models | Route::Pass) && !ends.is_for_health {
        guard::check_key(&shared.config.keys, &parts.headers)?;
    }
    match route {
        Route::Liveness => Ok(json_response(200, &json!({"status": "ok"}))),
        Route::Readiness => Ok(readiness(shared)),
        _ if ends.is_for_health => {
            let message = "the gateway has its maximum of connections; try again";
            Err(Refusal::new(503, "busy", message).retry_after())
        }
        Route::Page => page::answer(shared, parts, body, ends.client).await,
        Route::Select(endpoint) => chat::answer(shared, endpoint, parts, body, started).await,
        Route::Models if models::upstreams(&shared.config, parts).len() > 1 => {
            models::answer(shared, parts).await
        }
        Route::Models | Route::Pass => pass(shared, parts, body, started).await,
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
    started: Instant,
) -> Result<Response<Body>, Refusal> {
    let place = route::model_place(parts);
    let is_routed = only_upstream(&shared.config.upstreams).is_none();
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
    let upstream = route::upstream(&shared.config, parts, model.as_deref())?;
    route::check_open_route(&shared.config, upstream, parts)?;
    let target = (upstream, route::upstream_path(parts));
    let answer = shared.client.send(target, parts, body).await?;
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
