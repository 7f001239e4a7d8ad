//! Requests with messages: read, fitted, sent, and the answer passed on.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use cupel_json::Endpoint;
use http::header::{CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Response, StatusCode};
use hyper::body::Incoming;

use super::record::Open;
use super::route::{self, Route};
use super::{body, exact, model, tapped};
use crate::answer::{Body, PASSED, REPORT, Refusal, TOKENS, header_value};
use crate::calls::Call;
use crate::config;
use crate::gateway::Shared;
use crate::proxy::{Ended, Payload, Target};
use crate::select::{Outcome, Selected};
use crate::tenant::Caller;

/// Where clients of Anthropic's say what they want of what is new.
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// Asks for a request to be sent as it is.
const BYPASS: &str = "x-cupel-bypass";

pub(super) async fn answer(
    shared: &Arc<Shared>,
    endpoint: Endpoint,
    parts: &Parts,
    body: Incoming,
    started: Instant,
) -> Result<Response<Body>, Refusal> {
    body::must_be_json(&parts.headers)?;
    let caller = shared.tenants.caller(&parts.headers);
    let held = body::read(shared, body).await?;
    let as_it_came = held.bytes.clone();
    let (held, is_readable) = body::plain(shared, &parts.headers, held).await?;
    let is_bypassed = parts.headers.contains_key(BYPASS);
    let bytes = if is_bypassed { as_it_came } else { held.bytes.clone() };
    let parts = &match is_readable && !is_bypassed {
        true => without_encoding(parts),
        false => Cow::Borrowed(parts),
    };
    let selected = select(shared, endpoint, &parts.headers, bytes.clone(), caller.clone()).await?;
    refuse_unfitted(shared, &parts.headers, &selected)?;
    let is_one = config::only(&shared.config.upstreams).is_some();
    if !is_readable && !is_one {
        return Err(body::unknown_encoding());
    }
    let model = match is_one && !model::may_be_twice(&held.bytes) {
        true => selected.model.clone(),
        false => match model::in_body(held.bytes.clone()).await {
            Err(refusal) if is_one && refusal.code() != model::TWICE => selected.model.clone(),
            model => model?,
        },
    };
    let upstream = shared.upstream(parts, model.as_deref())?;
    let mut caller = caller;
    let asked = exact::Asked { shared, upstream, parts, endpoint, bytes: &bytes };
    let selected = exact::fitted(&asked, selected, &mut caller).await?;
    let target = Target { upstream, path: route::upstream_path(parts) };
    let sent = Payload::Whole(selected.body.clone());
    let parts = &with_beta(parts, selected.beta);
    let open = Open::begin(shared, Route::Select(endpoint).name(), selected, &caller, started);
    #[cfg(feature = "archive")]
    let open = open.said(crate::memory::Said { caller, endpoint, request: held.bytes.clone() });
    let answer = match shared.client.send(&target, parts, sent).await {
        Ok(answer) => answer,
        Err(refusal) => {
            open.refused(&refusal);
            return Err(refusal);
        }
    };
    drop(held);
    let ours = describe(open.call());
    let status = answer.status().as_u16();
    let keep = open.keeps_answer();
    let ended = move |ended: Ended| open.ended(status, &ended);
    let mut answer = tapped(shared, answer, keep, Box::new(ended));
    answer.headers_mut().extend(ours);
    Ok(answer)
}

/// A request's head for a body that is not compressed any more.
fn without_encoding(parts: &Parts) -> Cow<'_, Parts> {
    if !parts.headers.contains_key(CONTENT_ENCODING) {
        return Cow::Borrowed(parts);
    }
    let mut parts = parts.clone();
    parts.headers.remove(CONTENT_ENCODING);
    Cow::Owned(parts)
}

/// A request's head with one more value in `anthropic-beta`.
fn with_beta<'a>(parts: &'a Parts, beta: Option<&'static str>) -> Cow<'a, Parts> {
    let Some(beta) = beta else { return Cow::Borrowed(parts) };
    let given = parts.headers.get_all(BETA).iter().filter_map(|value| value.to_str().ok());
    if given.flat_map(|value| value.split(',')).any(|value| value.trim() == beta) {
        return Cow::Borrowed(parts);
    }
    let mut parts = parts.clone();
    parts.headers.append(BETA, HeaderValue::from_static(beta));
    Cow::Owned(parts)
}

pub(super) async fn select(
    shared: &Shared,
    endpoint: Endpoint,
    headers: &HeaderMap,
    bytes: bytes::Bytes,
    caller: Caller,
) -> Result<Selected, Refusal> {
    if headers.contains_key(BYPASS) {
        return Ok(Selected::as_it_came(bytes, "bypass", "x-cupel-bypass was set"));
    }
    if headers.contains_key(CONTENT_ENCODING) {
        return Ok(Selected::as_it_came(bytes, "encoded", "the body is compressed"));
    }
    shared.selector.select(endpoint, bytes, caller).await
}

/// Refuses what was not fitted, where that is wanted.
fn refuse_unfitted(
    shared: &Shared,
    headers: &HeaderMap,
    selected: &Selected,
) -> Result<(), Refusal> {
    match &selected.outcome {
        Outcome::Passed(passed) if shared.config.fail_closed && !headers.contains_key(BYPASS) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Err(Refusal::new(status, "not_fitted", passed.why.clone()))
        }
        _ => Ok(()),
    }
}

/// Our headers of an answer.
fn describe(call: &Call) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(REPORT, header_value(&call.id));
    match &call.outcome {
        Ok(fitted) => {
            headers.insert(TOKENS, fitted.tokens.into());
        }
        Err((code, why)) => {
            headers.insert(PASSED, header_value(&format!("{code}: {why}")));
        }
    }
    headers
}
