//! The list of calls, live; and the page that asks for the token.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use futures::stream;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use serde_json::{Value, json};

use super::protect;
use crate::answer::{Body, BoxError};
use crate::calls::{Call, Calls};
use crate::gateway::Shared;

const STYLE: &str = include_str!("list.css");
const SCRIPT: &str = include_str!("list.js");
const LIST: &str = include_str!("list.html");

/// How many calls the list shows.
const SHOWN: usize = 200;

/// Changes that come together are shown together.
const PAUSE: Duration = Duration::from_millis(250);

pub(super) fn page(nonce: &str) -> String {
    let body = format!("{LIST}<script nonce=\"{nonce}\">{SCRIPT}</script>\n");
    document("Recent calls", nonce, &body)
}

pub(super) fn login(nonce: &str, was_wrong: bool) -> String {
    let wrong = if was_wrong { "<p class=\"bad\">That was not the token.</p>\n" } else { "" };
    let body = format!(
        "<h1>Recent calls</h1>\n<p>The gateway printed a token when it was started, or wrote it to a \
         file for its owner.</p>\n{wrong}<form method=\"post\" action=\"/cupel/login\">\
         <label>Token <input name=\"token\" type=\"password\" autocomplete=\"off\" required></label>\
         <button>Show the calls</button></form>\n"
    );
    document("Recent calls", nonce, &body)
}

/// A call that went out as it came.
pub(super) fn passed(call: &Call, nonce: &str) -> String {
    let why = match &call.outcome {
        Err((code, why)) => format!("{code}: {why}"),
        Ok(_) => String::new(),
    };
    let why = escape(&why);
    let body = format!(
        "<nav><a href=\"/cupel/\">all calls</a></nav>\n<h1>Sent as it came</h1>\n<p>{why}</p>\n"
    );
    document("Sent as it came", nonce, &body)
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

/// The list as it changes, until the gateway stops.
pub(super) fn events(shared: &Arc<Shared>) -> Response<Body> {
    let shared = Arc::clone(shared);
    let mut changes = shared.calls.changes();
    changes.mark_changed();
    let stopping = shared.stopping.subscribe();
    // What is there is shown at once.
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
            // What has changed during the pause is in it.
            changes.mark_unchanged();
            let event = Bytes::from(format!("data: {}\n\n", data(&shared.calls)));
            Some((Ok::<_, BoxError>(Frame::data(event)), (shared, changes, stopping, PAUSE)))
        },
    );
    let mut response = Response::new(StreamBody::new(events).boxed_unsync());
    protect(response.headers_mut(), "");
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

/// What the list shows.
fn data(calls: &Calls) -> Value {
    let totals = calls.totals();
    let factors: Vec<Value> = calls
        .factors()
        .into_iter()
        .map(|(model, factor, calls)| json!({"model": model, "factor": factor, "calls": calls}))
        .collect();
    let calls: Vec<Value> = calls.newest(SHOWN).iter().map(|call| summary(call)).collect();
    json!({
        "calls": calls, "factors": factors,
        "totals": {"calls": totals.calls, "passed": totals.passed, "sent": totals.sent,
            "left_out": totals.left_out, "expected_cached": totals.expected_cached,
            "cached": totals.cached},
    })
}

fn summary(call: &Call) -> Value {
    let fitted = call.fitted();
    let ending = call.ending();
    let at = call.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    json!({
        "id": call.id, "at": u64::try_from(at).unwrap_or_default(), "route": call.route,
        "model": call.model, "conversation": call.conversation.name(),
        "passed": call.outcome.as_ref().err().map(|(code, _)| code),
        "tokens": fitted.map(|fitted| fitted.tokens), "left_out": fitted.map(|fitted| fitted.left_out),
        "cached": fitted.map(|fitted| fitted.cached),
        "counted": ending.and_then(|ending| ending.usage).map(|usage| usage.input),
        "status": ending.map(|ending| ending.status), "end": ending.map(|ending| ending.how),
        "milliseconds": ending.map(|ending| u64::try_from(ending.elapsed.as_millis()).unwrap_or(u64::MAX)),
    })
}
