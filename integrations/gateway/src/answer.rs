//! What the gateway itself answers: errors in the protocol's own shape, and little else.

use std::fmt;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{HeaderName, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};

use crate::config::Protocol;

/// The error of a body that breaks off.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Whatever is sent to a client.
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A body that is there at once.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A request that the gateway does not serve, and why, in words that a client may see.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    status: StatusCode,
    code: &'static str,
    message: String,
    retry_after: bool,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), retry_after: false }
    }

    /// Says that it may be tried again in a second.
    pub(crate) fn retry_after(mut self) -> Self {
        self.retry_after = true;
        self
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    pub(crate) fn into_response(self, protocol: Protocol) -> Response<Body> {
        let status = self.status.as_u16();
        let json = match protocol {
            // `{"error": {message, type, param, code}}`.
            Protocol::OpenAi => {
                let kind = match status {
                    401 | 403 => "authentication_error",
                    400..500 => "invalid_request_error",
                    _ => "gateway_error",
                };
                serde_json::json!({"error": {
                    "message": self.message, "type": kind, "param": null, "code": self.code,
                }})
            }
            // `{"type": "error", "error": {type, message}}`.
            Protocol::Anthropic => {
                let kind = match status {
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
                serde_json::json!({"type": "error", "error": {"type": kind, "message": message}})
            }
        };
        let mut response = json_response(self.status, &json);
        if self.retry_after {
            response.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
        }
        response
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A JSON answer of ours, which nobody may keep.
pub(crate) fn json_response(status: StatusCode, json: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(full(json.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The longest value of a header of ours.
const HEADER_CHARACTERS: usize = 240;

/// Any text as the value of a header: one line of visible ASCII, and not a long one.
pub(crate) fn header_value(text: &str) -> HeaderValue {
    let text = visible(text, HEADER_CHARACTERS);
    HeaderValue::from_str(text.trim()).unwrap_or(HeaderValue::from_static("?"))
}

/// The beginning of a text, with nothing in it that could do anything to a line.
pub(crate) fn visible(text: &str, characters: usize) -> String {
    let visible = |character: char| match character {
        ' '..='~' => character,
        _ => '?',
    };
    text.chars().take(characters).map(visible).collect()
}

/// Names the report of a call.
pub(crate) const REPORT: HeaderName = HeaderName::from_static("x-cupel-report");

/// The tokens that were sent, as the gateway counts them.
pub(crate) const TOKENS: HeaderName = HeaderName::from_static("x-cupel-tokens");

/// Why a request went out as it came.
pub(crate) const PASSED: HeaderName = HeaderName::from_static("x-cupel-passed");

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
