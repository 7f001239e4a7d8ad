//! Bodies that are read: all of them, within limits.

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HeaderMap};
use http::{HeaderValue, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::SemaphorePermit;

use crate::answer::Refusal;
use crate::gateway::Shared;

/// A body and the room it takes.
#[derive(Debug)]
pub(super) struct Held<'a> {
    pub(super) bytes: Bytes,
    _room: Option<SemaphorePermit<'a>>,
}

/// Reads a body.
///
/// # Errors
///
/// A body that is too large, comes too slowly or breaks off; and when too many others wait.
pub(super) async fn read(shared: &Shared, body: Incoming) -> Result<Held<'_>, Refusal> {
    let limits = &shared.config.limits;
    let hint = body.size_hint();
    let announced = usize::try_from(hint.exact().unwrap_or(hint.lower())).unwrap_or(usize::MAX);
    if announced > limits.body_bytes {
        return Err(too_large(limits.body_bytes));
    }
    match tokio::time::timeout(limits.body_time, collect(shared, body)).await {
        Ok(read) => read,
        Err(_) => {
            let limit = limits.body_time.as_secs_f64();
            let message = format!("the body took longer than {limit} s");
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "body_time", message))
        }
    }
}

/// Reads all of a body. Room is taken for what has come, not for what was announced: who only
/// announces could keep everybody else out.
async fn collect(shared: &Shared, mut body: Incoming) -> Result<Held<'_>, Refusal> {
    let most = shared.config.limits.body_bytes;
    let mut room: Option<SemaphorePermit<'_>> = None;
    // Most bodies come in one piece, which is not copied.
    let (mut first, mut all) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        let broken = |_| Refusal::new(StatusCode::BAD_REQUEST, "broken_body", "the body broke off");
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        let length = first.len().saturating_add(all.len()).saturating_add(data.len());
        if length > most {
            return Err(too_large(most));
        }
        let held = room.as_ref().map_or(0, SemaphorePermit::num_permits);
        let missing = length.div_ceil(1024).saturating_sub(held);
        let more = shared.room.try_acquire_many(u32::try_from(missing).unwrap_or(u32::MAX));
        let more = more.map_err(|_| busy())?;
        match &mut room {
            Some(room) => room.merge(more),
            None => room = Some(more),
        }
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
    }
    let bytes = if all.is_empty() { first } else { all.freeze() };
    Ok(Held { bytes, _room: room })
}

fn too_large(most: usize) -> Refusal {
    let message = format!("the body is larger than {most} bytes");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
}

fn busy() -> Refusal {
    let message = "too many requests are being read; try again";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message).retry_after()
}

/// A form of another site's could send anything else without being asked first.
pub(super) fn must_be_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let is_json = |value: &HeaderValue| {
        let kind = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
        let kind = kind.trim().to_ascii_lowercase();
        kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
    };
    if types.next().is_some_and(is_json) && types.next().is_none() {
        return Ok(());
    }
    let message = "expected Content-Type: application/json";
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_json_and_nothing_else_is() {
        let ok = |value: &str| {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, value.parse().unwrap())]);
            must_be_json(&headers).is_ok()
        };
        assert!(ok("application/json") && ok("Application/JSON; charset=utf-8"));
        assert!(ok("application/problem+json"));
        for other in ["text/plain", "application/x-www-form-urlencoded", "text/json", "", "json"] {
            assert!(!ok(other), "{other}");
        }
        assert!(must_be_json(&HeaderMap::new()).is_err());
    }
}
