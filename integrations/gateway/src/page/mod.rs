//! Page of recent calls. It needs a token, and nothing can be changed from it.

mod login;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use futures::stream;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{Method, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Collected, Limited, StreamBody};
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::answer::{Body, BoxError, Refusal, full, status_of};
use crate::calls::{Call, Calls, milliseconds};
use crate::credentials::{NO_RANDOMNESS, random_token};
use crate::gateway_state::GatewayState;

pub(crate) use login::PageLogin;

const STYLE: &str = include_str!("list.css");
const SCRIPT: &str = include_str!("list.js");
const LIST: &str = include_str!("list.html");
const TITLE: &str = "Cupel gateway: recent calls";

/// Largest login form: longer than any token.
const LOGIN_BYTES: usize = 1_024;

/// Number of calls in the list.
const SHOWN: usize = 200;

/// Pause between two events, so that changes are sent together.
const PAUSE: Duration = Duration::from_millis(250);

/// Answers a request below `/cupel`.
pub(crate) async fn answer(
    shared: &Arc<GatewayState>,
    parts: &Parts,
    body: Incoming,
    client: Option<IpAddr>,
) -> Result<Response<Body>, Refusal> {
    let Some(login) = &shared.login else {
        return Err(Refusal::new(404, "no_page", "this gateway has no page"));
    };
    // The cookie is valid below `/cupel/` only.
    let Some(path) = parts.uri.path().strip_prefix("/cupel/") else { return Ok(to_the_list()) };
    if parts.method == Method::POST && path == "login" {
        if !login.may_try(client) {
            let message = "too many wrong tokens from this address; try again in a minute";
            return Err(Refusal::new(429, "too_many_tries", message));
        }
        let time = shared.config.limits.body_time;
        let read = tokio::time::timeout(time, Limited::new(body, LOGIN_BYTES).collect()).await;
        let form = read.ok().and_then(Result::ok).map(Collected::to_bytes).unwrap_or_default();
        return log_in(login, &form, client);
    }
    if parts.method != Method::GET {
        return Err(Refusal::new(405, "read_only", "the page can only be read: expected GET"));
    }
    if !login.is_open_to(&parts.headers) {
        return login_form(false);
    }
    match path.split_once('/') {
        None if path.is_empty() => html(200, |nonce| {
            document(TITLE, nonce, &format!("{LIST}<script nonce=\"{nonce}\">{SCRIPT}</script>\n"))
        }),
        None if path == "events" => Ok(events(Arc::clone(shared))),
        Some(("call", id)) => match shared.calls.find(id) {
            Some(call) => html(200, |nonce| explained(&call, nonce)),
            None => {
                let message = "this call is no longer remembered, or never was";
                Err(Refusal::new(404, "no_such_call", message))
            }
        },
        _ => Err(Refusal::new(404, "not_found", "there is no such page")),
    }
}

fn log_in(
    login: &PageLogin,
    form: &[u8],
    client: Option<IpAddr>,
) -> Result<Response<Body>, Refusal> {
    let token = form.strip_prefix(b"token=").unwrap_or_default();
    let Some(cookie) = login.cookie_for(token) else {
        login.was_wrong(client);
        return login_form(true);
    };
    let mut response = to_the_list();
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

fn login_form(was_wrong: bool) -> Result<Response<Body>, Refusal> {
    let wrong = if was_wrong { "<p class=\"bad\">The token is wrong.</p>\n" } else { "" };
    let body = format!(
        "<h1>{TITLE}</h1>\n<p>The gateway printed a token when it started, or wrote it to a file that \
         only its owner can read.</p>\n{wrong}<form method=\"post\" action=\"/cupel/login\">\
         <label>Token <input name=\"token\" type=\"password\" autocomplete=\"off\" required></label>\
         <button>Log in</button></form>\n"
    );
    html(401, |nonce| document(TITLE, nonce, &body))
}

fn to_the_list() -> Response<Body> {
    let mut response = page_response(303, full(""), "");
    response.headers_mut().insert(LOCATION, HeaderValue::from_static("/cupel/"));
    response
}

/// Explains a call, with the changes since the previous one.
fn explained(call: &Call, nonce: &str) -> String {
    let previous = call.previous();
    let before = previous.as_ref().and_then(|call| call.outcome.as_ref().ok());
    let fitted = call.outcome.as_ref().map_err(|passed| (passed, call.shadow.get()));
    match fitted {
        Ok(fitted) | Err((_, Some(fitted))) => fitted
            .explanation
            .page()
            .previous(before.map(|fitted| &fitted.explanation))
            .nonce(nonce)
            .home("/cupel/", "all calls")
            .to_string(),
        Err((passed, None)) => {
            let title = if passed.code == "summary" { "A summary" } else { "Sent unchanged" };
            let why = escape(&format!("{}: {}", passed.code, passed.why));
            let body = format!(
                "<nav><a href=\"/cupel/\">all calls</a></nav>\n<h1>{title}</h1>\n<p>{why}</p>\n"
            );
            document(title, nonce, &body)
        }
    }
}

fn document(title: &str, nonce: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style nonce=\"{nonce}\">{STYLE}</style>\n</head>\n<body>\n{body}\
         </body>\n</html>\n"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Streams the list as it changes, until the gateway stops.
fn events(shared: Arc<GatewayState>) -> Response<Body> {
    let mut changes = shared.calls.changes();
    changes.mark_changed();
    let stopping = shared.stopping.subscribe();
    // The first event comes at once.
    let first = Duration::ZERO;
    let events = stream::unfold(
        (shared, changes, stopping, first),
        |(shared, mut changes, mut stopping, pause)| async move {
            let stopped = async { drop(stopping.wait_for(|stopping| *stopping).await) };
            tokio::select! {
                biased;
                () = stopped => return None,
                changed = changes.changed() => changed.ok()?,
            }
            tokio::time::sleep(pause).await;
            // The event includes the changes during the pause.
            changes.mark_unchanged();
            let event = Bytes::from(format!("data: {}\n\n", data(&shared.calls)));
            Some((Ok::<_, BoxError>(Frame::data(event)), (shared, changes, stopping, PAUSE)))
        },
    );
    let mut response = page_response(200, StreamBody::new(events).boxed_unsync(), "");
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

/// Data of the list, for its script.
fn data(calls: &Calls) -> Value {
    let newest = calls.newest(SHOWN);
    json!({
        "calls": newest.iter().map(|call| summary(call)).collect::<Vec<_>>(),
        "ratios": calls.ratios(),
        "totals": calls.totals(),
        "sides": calls.sides(),
    })
}

fn summary(call: &Call) -> Value {
    let fitted = call.outcome.as_ref().ok();
    let end = call.ending();
    let at = call.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    json!({
        "id": call.id, "at": u64::try_from(at).unwrap_or_default(), "route": call.route,
        "model": call.model, "conversation": call.conversation.name(),
        "passed": call.outcome.as_ref().err().map(|passed| passed.code),
        "tokens": fitted.map(|fitted| fitted.tokens), "dropped": fitted.map(|fitted| fitted.dropped),
        "cached": fitted.map(|fitted| fitted.cached),
        "planned": call.shadow.get().map(|planned| planned.tokens),
        "counted": end.and_then(|end| end.usage).map(|usage| usage.input),
        "status": end.map(|end| end.status), "end": end.map(|end| end.reason),
        "milliseconds": end.map(|end| milliseconds(end.elapsed)),
    })
}

fn html(status: u16, write: impl FnOnce(&str) -> String) -> Result<Response<Body>, Refusal> {
    let nonce = random_token().ok_or_else(|| Refusal::new(500, "no_randomness", NO_RANDOMNESS))?;
    let mut response = page_response(status, full(write(&nonce)), &nonce);
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// Makes an answer that browsers do not store or frame, and that runs only scripts with the nonce.
fn page_response(status: u16, body: Body, nonce: &str) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status_of(status);
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    let policy = HeaderValue::from_str(&policy);
    let policy = policy.unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    for (name, value) in [
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
