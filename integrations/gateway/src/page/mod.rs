//! The page of recent calls: to look at, behind its token, and nothing can be changed from it.

mod door;
mod list;

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use http_body_util::{BodyExt, Collected, Limited};
use hyper::body::Incoming;

use crate::answer::{Body, Refusal, full};
use crate::calls::Call;
use crate::gateway::Shared;
use crate::secret::random_token;

pub(crate) use door::Door;

/// Longer than any token.
const LOGIN_BYTES: usize = 1_024;

/// Answers a request below `/cupel`.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    parts: &Parts,
    body: Incoming,
    client: Option<IpAddr>,
) -> Result<Response<Body>, Refusal> {
    let Some(door) = &shared.door else {
        let message = "this gateway has no page";
        return Err(Refusal::new(StatusCode::NOT_FOUND, "no_page", message));
    };
    // The cookie is for what is below.
    let Some(path) = parts.uri.path().strip_prefix("/cupel/") else { return Ok(to_the_list()) };
    if parts.method == Method::POST && path == "login" {
        if !door.may_try(client) {
            let message = "too many wrong tokens from this address; try again in a minute";
            return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_tries", message));
        }
        let time = shared.config.limits.body_time;
        let read = tokio::time::timeout(time, Limited::new(body, LOGIN_BYTES).collect()).await;
        let form = read.ok().and_then(Result::ok).map(Collected::to_bytes).unwrap_or_default();
        return log_in(door, &form, client);
    }
    if parts.method != Method::GET {
        let message = "there is nothing here that could be changed";
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "read_only", message));
    }
    if !door.is_open_to(&parts.headers) {
        return html(StatusCode::UNAUTHORIZED, |nonce| list::login(nonce, false));
    }
    match path.split_once('/') {
        None if path.is_empty() => html(StatusCode::OK, list::page),
        None if path == "events" => Ok(list::events(shared)),
        Some(("call", id)) => match shared.calls.find(id) {
            Some(call) => html(StatusCode::OK, |nonce| explained(&call, nonce)),
            None => {
                let message = "this call is not remembered; older ones make room for newer ones";
                Err(Refusal::new(StatusCode::NOT_FOUND, "no_such_call", message))
            }
        },
        _ => Err(Refusal::new(StatusCode::NOT_FOUND, "not_found", "there is no such page")),
    }
}

fn log_in(door: &Door, form: &[u8], client: Option<IpAddr>) -> Result<Response<Body>, Refusal> {
    let token = form.strip_prefix(b"token=").unwrap_or_default();
    let Some(cookie) = door.cookie_for(token) else {
        door.was_wrong(client);
        return html(StatusCode::UNAUTHORIZED, |nonce| list::login(nonce, true));
    };
    let mut response = to_the_list();
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

fn to_the_list() -> Response<Body> {
    let mut response = Response::new(full(""));
    *response.status_mut() = StatusCode::SEE_OTHER;
    protect(response.headers_mut(), "");
    response.headers_mut().insert(LOCATION, HeaderValue::from_static("/cupel/"));
    response
}

/// A call explained, with what changed since the one before it.
fn explained(call: &Call, nonce: &str) -> String {
    let previous = call.previous();
    let before = previous.as_ref().and_then(|call| call.fitted());
    match call.fitted() {
        Some(fitted) => fitted
            .explanation
            .page()
            .previous(before.map(|fitted| &fitted.explanation))
            .nonce(nonce)
            .home("/cupel/", "all calls")
            .to_string(),
        None => list::passed(call, nonce),
    }
}

/// A page of ours: nobody keeps it, frames it, or learns where it was left from.
fn html(status: StatusCode, write: impl FnOnce(&str) -> String) -> Result<Response<Body>, Refusal> {
    let nonce = random_token().ok_or_else(|| {
        let message = "the system has no randomness to give";
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "no_randomness", message)
    })?;
    let mut response = Response::new(full(write(&nonce)));
    *response.status_mut() = status;
    protect(response.headers_mut(), &nonce);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    Ok(response)
}

fn protect(headers: &mut http::HeaderMap, nonce: &str) {
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    let policy = HeaderValue::from_str(&policy);
    headers.insert(
        CONTENT_SECURITY_POLICY,
        policy.unwrap_or(HeaderValue::from_static("default-src 'none'")),
    );
    for (name, value) in [
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
