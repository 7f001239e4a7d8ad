//! Answers of the gateway itself: errors in the shape of the client's protocol, and small JSON documents.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use crate::config::Protocol;

/// Error of a body that breaks off.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Body of any answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// Wraps bytes that are complete.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Error that a client gets from the gateway.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    message: String,
    retry_after: Option<u64>,
}

impl Refusal {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), retry_after: None }
    }

    /// Adds `retry-after: 1`.
    pub(crate) fn retry_after(self) -> Self {
        self.retry_in(1)
    }

    /// Adds `retry-after`.
    pub(crate) fn retry_in(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub(crate) fn into_response(self, protocol: Protocol) -> Response<Body> {
        let json = match protocol {
            Protocol::OpenAi => {
                let kind = match self.status {
                    401 | 403 => "authentication_error",
                    429 => "rate_limit_error",
                    400..500 => "invalid_request_error",
                    _ => "gateway_error",
                };
                json!({"error": {
                    "message": self.message, "type": kind, "param": null, "code": self.code,
                }})
            }
            Protocol::Anthropic => {
                let kind = match self.status {
                    401 => "authentication_error",
                    403 => "permission_error",
                    404 => "not_found_error",
                    413 => "request_too_large",
                    429 => "rate_limit_error",
                    503 | 529 => "overloaded_error",
                    400..500 => "invalid_request_error",
                    _ => "api_error",
                };
                let message = format!("{} ({})", self.message, self.code);
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
        };
        let mut response = json_response(self.status, &json);
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// Makes a JSON answer that caches do not store.
pub(crate) fn json_response(status: u16, json: &Value) -> Response<Body> {
    let mut response = Response::new(full(json.to_string()));
    *response.status_mut() = status_of(status);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(crate) fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Longest name of a model in logs, metrics and on the page.
pub(crate) const MODEL_CHARACTERS: usize = 80;

/// Longest value of a header that the gateway writes.
const HEADER_CHARACTERS: usize = 240;

/// Makes a header value of any text: one line of visible ASCII, cut if it is long.
pub(crate) fn header_value(text: &str) -> HeaderValue {
    let text = visible(text, HEADER_CHARACTERS);
    HeaderValue::from_str(text.trim()).unwrap_or(HeaderValue::from_static("?"))
}

/// Returns the beginning of a text, with `?` for all characters but visible ASCII.
pub(crate) fn visible(text: &str, characters: usize) -> String {
    let visible = |character: char| match character {
        ' '..='~' => character,
        _ => '?',
    };
    text.chars().take(characters).map(visible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_becomes_one_visible_line() {
        assert_eq!(
            header_value("model \"a\r\nset-cookie: x=1\" ü"),
            "model \"a??set-cookie: x=1\" ?"
        );
        assert_eq!(header_value(&"x".repeat(1_000)).len(), HEADER_CHARACTERS);
        assert_eq!(header_value("\u{0}"), "?");
        assert_eq!(header_value(""), "");
    }
}
