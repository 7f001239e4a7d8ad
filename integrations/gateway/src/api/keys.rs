//! The gateway's own authorisation.

use http::{HeaderMap, StatusCode};
use ring::hmac;

use crate::answer::Refusal;
use crate::gateway::Shared;
use crate::proxy::headers;

/// Refuses callers without one of the configured keys, where there are any.
pub(super) fn check(shared: &Shared, headers: &HeaderMap) -> Result<(), Refusal> {
    let keys = &shared.config.keys;
    if keys.is_empty() {
        return Ok(());
    }
    let shown = headers::shown(headers).unwrap_or_default();
    // All are compared, each in constant time, so that nothing is learned from how long it takes.
    let known = keys.iter().fold(false, |known, key| known | same(key.expose(), shown));
    if known {
        return Ok(());
    }
    let message = "this gateway wants a key: as the client's API key, or in x-cupel-key";
    Err(Refusal::new(StatusCode::UNAUTHORIZED, "invalid_api_key", message))
}

/// Whether two texts are the same, in a time that tells nothing about where they differ.
pub(crate) fn same(known: &str, shown: &[u8]) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, known.as_bytes());
    let tag = hmac::sign(&key, known.as_bytes());
    hmac::verify(&key, shown, tag.as_ref()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn only_the_same_text_is_the_same() {
        assert!(same("secret", b"secret"));
        for other in [&b""[..], b"secre", b"secrets", b"Secret"] {
            assert!(!same("secret", other));
        }
    }
}
