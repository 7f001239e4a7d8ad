//! Thinking that newer models refuse once something before it has changed.
//!
//! <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>: the API drops such
//! thoughts instead when the request says so, and keeps those that still stand behind the same
//! words. It is the only way without a store: which of them do, only the provider knows.

use cupel::gather::BoxError;

use crate::read::Object;
use crate::request::{JsonBody, place};

/// The value that `anthropic-beta` needs when a body has `thinking.block_binding`.
pub const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

const BINDING: &str = r#""block_binding":{"prefix_mismatch_behavior":"drop_block"}"#;

/// Asks for thoughts that no longer fit to be dropped, unless the caller has said what to do.
pub(super) fn drop_stale<T>(body: &mut JsonBody<T>) -> Result<(), BoxError> {
    match setting(body.json()) {
        Some((at, new)) => body.splice(at..at, &new),
        None => Ok(()),
    }
}

/// The setting, and where it is put in.
fn setting(json: &str) -> Option<(usize, String)> {
    let request = Object::parse(json)?;
    Some(match request.raw("thinking") {
        Some(raw) => {
            let thinking = request.object("thinking")?;
            if thinking.has("block_binding") || thinking.text("type")? != "adaptive" {
                return None;
            }
            (place(json, raw)?.end - 1, format!(",{BINDING}"))
        }
        // These models think adaptively unless told otherwise.
        None => (json.rfind('}')?, format!(r#","thinking":{{"type":"adaptive",{BINDING}}}"#)),
    })
}

impl<T> JsonBody<T> {
    /// The value that has to be in the header `anthropic-beta` for this body, if any: those who send
    /// it add [it](BINDING_BETA) to what is there.
    #[must_use]
    pub fn needs_beta(&self) -> Option<&'static str> {
        // The parser is asked only where the words are there at all.
        let found = self.json().contains("\"block_binding\"");
        let request = found.then(|| Object::parse(self.json())).flatten()?;
        request.object("thinking")?.has("block_binding").then_some(BINDING_BETA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Endpoint;

    fn dropped(json: &str) -> (String, bool) {
        let mut body = JsonBody::parse(Endpoint::Messages, json).unwrap();
        drop_stale(&mut body).unwrap();
        (body.json().to_owned(), body.needs_beta().is_some())
    }

    #[test]
    fn the_setting_is_added_and_needs_its_header() {
        let (json, beta) = dropped(r#"{"messages":[], "thinking" : {"type":"adaptive"} }"#);
        let expected =
            format!(r#"{{"messages":[], "thinking" : {{"type":"adaptive",{BINDING}}} }}"#);
        assert_eq!((json, beta), (expected, true));
        let (json, beta) = dropped(r#"{"messages":[]}"#);
        let expected = format!(r#"{{"messages":[],"thinking":{{"type":"adaptive",{BINDING}}}}}"#);
        assert_eq!((json, beta), (expected, true));
    }

    #[test]
    fn what_the_caller_has_set_stays() {
        let own = r#"{"messages":[],"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"error"}}}"#;
        assert_eq!(dropped(own), (own.to_owned(), true));
        for json in [
            r#"{"messages":[],"thinking":{"type":"disabled"}}"#,
            r#"{"messages":[],"thinking":{"type":"enabled","budget_tokens":2048}}"#,
            r#"{"messages":["block_binding"],"thinking":{"type":"disabled"}}"#,
        ] {
            assert_eq!(dropped(json), (json.to_owned(), false));
        }
    }
}
