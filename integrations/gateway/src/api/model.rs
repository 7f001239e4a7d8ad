//! The model that a request names: it decides whose request it is.

use std::fmt;

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use serde::de::{Deserializer as _, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::answer::Refusal;

/// The code of a body that names two models.
pub(super) const TWICE: &str = "two_models";

/// No name of a model is longer.
const NAME_BYTES: usize = 4_096;

/// Bodies of so many bytes are read on the blocking pool.
const LARGE: usize = 256 * 1024;

/// Reads the model at the top of a JSON body.
///
/// # Errors
///
/// A body that names it twice: servers differ in which one they take. Or one that is no JSON.
pub(super) async fn in_body(body: Bytes) -> Result<Option<String>, Refusal> {
    if body.len() < LARGE {
        return in_json(&body);
    }
    let read = tokio::task::spawn_blocking(move || in_json(&body)).await;
    read.unwrap_or_else(|_| Err(unreadable("nothing of the body")))
}

fn in_json(body: &[u8]) -> Result<Option<String>, Refusal> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let named = json.deserialize_map(Named).and_then(|named| json.end().map(|()| named));
    match named {
        Ok(names) if names.len() > 1 => Err(twice()),
        Ok(mut names) => Ok(names.pop().flatten()),
        Err(_) => Err(unreadable("the body is no JSON object that")),
    }
}

/// Returns whether a JSON body could name its model more than once. Most have the word once, and need not be read
/// for it.
pub(super) fn may_be_twice(body: &[u8]) -> bool {
    memchr::memmem::find_iter(body, b"model").nth(1).is_some()
        || memchr::memmem::find(body, b"\\u").is_some()
}

fn unreadable(what: &str) -> Refusal {
    let message = format!(
        "{what} can be read, and the gateway has several upstreams: expected one that names its model"
    );
    Refusal::new(StatusCode::BAD_REQUEST, "unreadable_model", message)
}

fn twice() -> Refusal {
    let message = "the body names its model twice, expected once";
    Refusal::new(StatusCode::BAD_REQUEST, TWICE, message)
}

/// Reads every `model` of an object; none for one that is no text.
struct Named;

impl<'de> Visitor<'de> for Named {
    type Value = Vec<Option<String>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut names = Vec::new();
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if key != "model" {
                map.next_value::<IgnoredAny>()?;
            } else if names.len() < 2 {
                names.push(map.next_value::<serde_json::Value>()?.as_str().map(str::to_owned));
            } else {
                return Err(A::Error::custom("too many models"));
            }
        }
        Ok(names)
    }
}

/// Reads the field `model` of a form with files.
///
/// # Errors
///
/// As [`in_json`].
pub(super) fn in_form(headers: &HeaderMap, body: &[u8]) -> Result<Option<String>, Refusal> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let boundary = kind.split(';').find_map(|part| {
        let (name, value) = part.trim().split_once('=')?;
        name.eq_ignore_ascii_case("boundary").then(|| value.trim_matches('"'))
    });
    let boundary = boundary
        .filter(|boundary| !boundary.is_empty())
        .ok_or_else(|| unreadable("the form has no boundary by which it"))?;
    let boundary = format!("--{boundary}");
    let mut names = Vec::new();
    let mut at: Vec<usize> = memchr::memmem::find_iter(body, &boundary).collect();
    at.push(body.len());
    for pair in at.windows(2) {
        let &[start, end] = pair else { continue };
        let part = body.get(start + boundary.len()..end).unwrap_or_default();
        let Some(head) = memchr::memmem::find(part, b"\r\n\r\n") else { continue };
        let (head, value) = part.split_at(head);
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        let is_model = head.split([';', '\n']).map(str::trim).any(|field| {
            let name = field.strip_prefix("name").map(str::trim_start);
            let name = name.and_then(|name| name.strip_prefix('=')).map(str::trim);
            name.is_some_and(|name| name.trim_matches('"') == "model")
        });
        if is_model {
            let value = value.trim_ascii();
            let value = value.get(..NAME_BYTES).unwrap_or(value);
            names.push(String::from_utf8_lossy(value).into_owned());
        }
    }
    if names.len() > 1 { Err(twice()) } else { Ok(names.pop()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_read_at_the_top_of_a_body_alone() {
        let of = |json: &str| in_json(json.as_bytes()).map_err(|refusal| refusal.code());
        assert_eq!(of(r#"{"a":{"model":"x"},"model":"llama","b":[1]}"#), Ok(Some("llama".into())));
        assert_eq!(of(r#"{"mod\u0065l":"llama"}"#), Ok(Some("llama".into())));
        assert_eq!(of("{}"), Ok(None));
        assert_eq!(of(r#"{"model":5}"#), Ok(None));
        assert_eq!(of(r#"{"model":"a","model":"b"}"#), Err(TWICE));
        assert_eq!(of(r#"{"model":"a"} x"#), Err("unreadable_model"));
        for twice in [r#"{"model":"a","model":"a"}"#, r#"{"model":"a","mod\u0065l":"b"}"#] {
            assert!(may_be_twice(twice.as_bytes()), "{twice}");
            assert_eq!(of(twice), Err(TWICE));
        }
        assert!(!may_be_twice(br#"{"model":"a","messages":[]}"#));
    }

    #[test]
    fn a_model_is_read_in_a_form() {
        let headers = HeaderMap::from_iter([(
            CONTENT_TYPE,
            "multipart/form-data; boundary=\"b1\"".parse().unwrap(),
        )]);
        let field = |name: &str, value: &str| {
            format!("--b1\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let of = |form: String| {
            in_form(&headers, format!("{form}--b1--\r\n").as_bytes())
                .map_err(|refusal| refusal.code())
        };
        assert_eq!(of(field("file", "model") + &field("model", "w-1")), Ok(Some("w-1".into())));
        assert_eq!(of(field("file", "x")), Ok(None));
        assert_eq!(of(field("model", "a") + &field("model", "b")), Err(TWICE));
        assert!(in_form(&HeaderMap::new(), b"").is_err());
    }
}
