//! Bodies that are read: all of them, within limits.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap};
use http::{HeaderValue, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use tokio::sync::SemaphorePermit;

use crate::answer::Refusal;
use crate::gateway::Shared;

/// A body and the room it takes.
#[derive(Debug)]
pub(super) struct Held<'a> {
    pub(super) bytes: Bytes,
    _room: SemaphorePermit<'a>,
}

/// Reads a body.
///
/// # Errors
///
/// A body that is too large, comes too slowly or breaks off; and when too many others wait.
pub(super) async fn read(shared: &Shared, body: Incoming) -> Result<Held<'_>, Refusal> {
    let limits = &shared.config.limits;
    let most = limits.body_bytes;
    let too_large = || {
        let message = format!("the body is larger than {most} bytes");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
    };
    let hint = body.size_hint();
    let expected = usize::try_from(hint.exact().unwrap_or(hint.lower())).unwrap_or(usize::MAX);
    if expected > most {
        return Err(too_large());
    }
    // What comes in chunks may be as large as is allowed.
    let expected = if hint.exact().is_some() { expected } else { most };
    let kibibytes = u32::try_from(expected.div_ceil(1024)).unwrap_or(u32::MAX);
    let full = |_| {
        let message = "too many requests are being read; try again";
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message).retry_after()
    };
    let room = shared.room.try_acquire_many(kibibytes).map_err(full)?;
    let read = Limited::new(body, most).collect();
    match tokio::time::timeout(limits.body_time, read).await {
        Ok(Ok(bytes)) => Ok(Held { bytes: bytes.to_bytes(), _room: room }),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => {
            Err(Refusal::new(StatusCode::BAD_REQUEST, "broken_body", "the body broke off"))
        }
        Err(_) => {
            let limit = limits.body_time.as_secs_f64();
            let message = format!("the body took longer than {limit} s");
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "body_time", message))
        }
    }
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
