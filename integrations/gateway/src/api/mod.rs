//! What is asked, and who answers it.

mod body;
mod exact;
mod model;
mod models;
mod record;
mod route;
mod selected;

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_SECURITY_POLICY, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;

use crate::answer::{Body, Refusal, json_response};
use crate::config::{self, Upstream};
use crate::gateway::Shared;
use crate::proxy::{Ended, Payload, Tap, Target};
use crate::server::Ends;
use crate::{guard, page};
use body::Held;
use route::{Naming, Route};

/// A file that a browser is shown from an upstream has the page's address, and is kept from acting for it.
const SANDBOX: HeaderValue = HeaderValue::from_static("sandbox");

/// Answers a request that has come between these ends.
pub(crate) async fn answer(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    ends: Ends,
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
            status = refusal.status().as_u16(),
            refused = refusal.code(),
            milliseconds = millis(started),
        );
        refusal.into_response(route.shape(&parts))
    })
}

async fn serve(
    shared: &Arc<Shared>,
    route: Route,
    parts: &Parts,
    body: Incoming,
    started: Instant,
    ends: Ends,
) -> Result<Response<Body>, Refusal> {
    match route {
        Route::Liveness => return Ok(json_response(StatusCode::OK, &json!({"status": "ok"}))),
        Route::Readiness => return Ok(readiness(shared)),
        _ if ends.is_for_health => {
            let message = "there are as many connections as there may be; try again";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            return Err(Refusal::new(status, "busy", message).retry_after());
        }
        Route::Page => return page::answer(shared, parts, body, ends.client).await,
        Route::Select(_) | Route::Models | Route::Pass => {}
    }
    guard::check_key(&shared.config.keys, &parts.headers)?;
    match route {
        Route::Select(endpoint) => selected::answer(shared, endpoint, parts, body, started).await,
        Route::Models => match models::asked(shared, parts) {
            asked if asked.len() > 1 => models::answer(shared, parts, asked).await,
            _ => pass(shared, parts, body, started).await,
        },
        _ => pass(shared, parts, body, started).await,
    }
}

fn readiness(shared: &Shared) -> Response<Body> {
    let (status, word) = match *shared.stopping.borrow() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        false => (StatusCode::OK, "ok"),
    };
    #[cfg(feature = "archive")]
    if let Some(memory) = &shared.memory {
        return json_response(status, &json!({"status": word, "archive": memory.status()}));
    }
    json_response(status, &json!({"status": word}))
}

/// Sends a request on as it is, body and all. It is read only where it has to be known whose it is.
async fn pass(
    shared: &Arc<Shared>,
    parts: &Parts,
    body: Incoming,
    started: Instant,
) -> Result<Response<Body>, Refusal> {
    let mut held = None;
    let naming = route::naming(parts);
    let is_one = config::only(&shared.config.upstreams).is_some();
    let (model, body) = match naming {
        Naming::Path(model) => (Some(guard::decoded(model)), Err(body)),
        Naming::Json | Naming::Form if !is_one => {
            let read = body::read(shared, body).await?;
            let bytes = read.bytes.clone();
            let model = model_in(shared, naming, &parts.headers, read, &mut held).await?;
            (model, Ok(bytes))
        }
        _ => (None, Err(body)),
    };
    let stall = shared.config.limits.stall_time;
    let body = match body {
        Ok(bytes) => Payload::Whole(bytes),
        Err(empty) if empty.is_end_stream() => Payload::Whole(Bytes::new()),
        Err(body) => Payload::Stream(Tap::upload(body, stall).boxed_unsync()),
    };
    let upstream = shared.upstream(parts, model.as_deref())?;
    route::check_open(&shared.config, upstream, parts)?;
    let target = Target { upstream, path: route::upstream_path(parts) };
    let answer = shared.client.send(&target, parts, body).await?;
    drop(held);
    let status = answer.status().as_u16();
    let ended = move |ended: Ended| {
        tracing::info!(
            route = "pass",
            status,
            end = ended.how.name(),
            bytes = ended.bytes,
            milliseconds = millis(started),
        );
    };
    Ok(tapped(shared, answer, false, Box::new(ended)))
}

/// Reads the model in a body, which is held until it is sent.
async fn model_in(
    shared: &Shared,
    naming: Naming<'_>,
    headers: &HeaderMap,
    read: Held,
    held: &mut Option<Held>,
) -> Result<Option<String>, Refusal> {
    let (plain, true) = body::plain(shared, headers, read).await? else {
        return Err(body::unknown_encoding());
    };
    let bytes = plain.bytes.clone();
    *held = Some(plain);
    match naming {
        Naming::Form => model::in_form(headers, &bytes),
        // What is no object names no model.
        _ if bytes.trim_ascii_start().first() != Some(&b'{') => Ok(None),
        _ => model::in_body(bytes).await,
    }
}

/// An upstream's answer on its way to the client; `keep`: somebody wants to read all of it.
fn tapped(
    shared: &Shared,
    mut answer: Response<Incoming>,
    keep: bool,
    ended: Box<dyn FnOnce(Ended) + Send>,
) -> Response<Body> {
    let readable = !answer.headers().contains_key(CONTENT_ENCODING);
    let stall = shared.config.limits.stall_time;
    if shared.door.is_some() {
        answer.headers_mut().append(CONTENT_SECURITY_POLICY, SANDBOX);
    }
    answer.map(|body| {
        let tap = Tap::answer(body, stall, readable, ended);
        if keep { tap.keep().boxed_unsync() } else { tap.boxed_unsync() }
    })
}

fn millis(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl Shared {
    /// Who is asked for a model, or for what names none.
    fn upstream(&self, parts: &Parts, model: Option<&str>) -> Result<&Upstream, Refusal> {
        let protocol = route::protocol(parts);
        let found = config::route(&self.config.upstreams, protocol, model);
        found.ok_or_else(|| {
            let message = match model {
                Some(model) => format!("no upstream is configured for model {model:?}"),
                None => "no upstream is configured for requests without a model".to_owned(),
            };
            Refusal::new(StatusCode::NOT_FOUND, "no_upstream", message)
        })
    }
}
