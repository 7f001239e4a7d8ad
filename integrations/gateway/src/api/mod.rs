//! What is asked, and who answers it.

mod body;
mod exact;
mod record;
mod route;
mod selected;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::header::{CONTENT_ENCODING, CONTENT_SECURITY_POLICY, HeaderValue};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;

use crate::answer::{Body, Refusal, json_response};
use crate::gateway::Shared;
use crate::proxy::{Ended, Tap, Target};
use crate::{guard, page};
use route::{Health, Route};

/// A file that a browser is shown from an upstream has the page's address, and is kept from acting for it.
const SANDBOX: HeaderValue = HeaderValue::from_static("sandbox");

/// Answers a request; `reached`: the address of ours that the client has connected to.
pub(crate) async fn answer(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    reached: Option<SocketAddr>,
) -> Response<Body> {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let route = Route::of(&parts);
    let answered = match guard::check(&parts, &shared.hosts, reached) {
        Ok(()) => serve(&shared, route, &parts, body, started).await,
        Err(refusal) => Err(refusal),
    };
    answered.unwrap_or_else(|refusal| {
        tracing::info!(
            route = route.name(),
            status = refusal.status().as_u16(),
            refused = refusal.code(),
            milliseconds = millis(started),
        );
        refusal.into_response(route.shape(&parts.headers))
    })
}

async fn serve(
    shared: &Arc<Shared>,
    route: Route,
    parts: &Parts,
    body: Incoming,
    started: Instant,
) -> Result<Response<Body>, Refusal> {
    match route {
        Route::Health(health) => Ok(healthy(shared, health)),
        Route::Page => page::answer(shared, parts, body).await,
        Route::Select(endpoint) => {
            guard::check_key(&shared.config.keys, &parts.headers)?;
            selected::answer(shared, endpoint, parts, body, started).await
        }
        Route::CountTokens => {
            guard::check_key(&shared.config.keys, &parts.headers)?;
            selected::count(shared, parts, body, started).await
        }
        Route::Pass => {
            guard::check_key(&shared.config.keys, &parts.headers)?;
            pass(shared, parts, body, started).await
        }
    }
}

fn healthy(shared: &Shared, health: Health) -> Response<Body> {
    let stopping = *shared.stopping.borrow();
    match health {
        Health::Readiness if stopping => {
            json_response(StatusCode::SERVICE_UNAVAILABLE, &json!({"status": "stopping"}))
        }
        _ => json_response(StatusCode::OK, &json!({"status": "ok"})),
    }
}

/// Sends a request on as it is, body and all, as it comes.
async fn pass(
    shared: &Arc<Shared>,
    parts: &Parts,
    body: Incoming,
    started: Instant,
) -> Result<Response<Body>, Refusal> {
    let upstream = shared.upstream(None)?;
    let target = Target { upstream, path: route::upstream_path(parts) };
    let body = Tap::upload(body, shared.config.limits.stall_time).boxed_unsync();
    let answer = shared.client.send(&target, parts, body).await?;
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
    fn upstream(&self, model: Option<&str>) -> Result<&crate::config::Upstream, Refusal> {
        let claims = self.config.upstreams.iter().filter_map(|one| Some((one.claims(model)?, one)));
        // Of two that fit alike the first counts.
        let best = claims.rev().max_by_key(|(claim, _)| *claim).map(|(_, upstream)| upstream);
        best.ok_or_else(|| {
            let message = match model {
                Some(model) => format!("no upstream is configured for model {model:?}"),
                None => "no upstream is configured for requests without a model".to_owned(),
            };
            Refusal::new(StatusCode::NOT_FOUND, "no_upstream", message)
        })
    }
}
