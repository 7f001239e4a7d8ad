//! Keys of the gateway's clients: names, limits, and what they open.

use std::fmt;

use ring::{digest, hmac};

use super::fits;
use crate::credentials::Secret;

/// Key with which a client may use the gateway.
///
/// ```
/// use cupel_gateway::{ClientKey, Secret};
///
/// let mut key = ClientKey::new("team-a", Secret::new("a long random key"));
/// key.requests_per_minute = Some(60);
/// assert!(!format!("{key:?}").contains("random"));
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct ClientKey {
    /// Name in logs and metrics.
    pub name: String,
    /// Models that it may use: names, or beginnings with `*`. Without any it may use all.
    pub models: Vec<String>,
    /// Routes that it may use, such as `POST /chat/completions`. Without any it may use all that are open.
    pub routes: Vec<String>,
    /// Most requests in a minute, in this process.
    pub requests_per_minute: Option<u64>,
    /// Most tokens in a minute, of requests and answers, in this process.
    pub tokens_per_minute: Option<u64>,
    /// SHA-256 of the key.
    hash: [u8; 32],
}

impl ClientKey {
    /// Makes a key without limits.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "the caller has no more use for the key")]
    pub fn new(name: impl Into<String>, key: Secret) -> Self {
        Self::from_hash(name, sha256(key.expose().as_bytes()))
    }

    /// Makes a key without limits, of which only the SHA-256 is known.
    #[must_use]
    pub fn from_hash(name: impl Into<String>, hash: [u8; 32]) -> Self {
        let (models, routes) = (Vec::new(), Vec::new());
        let name = name.into();
        Self { name, models, routes, requests_per_minute: None, tokens_per_minute: None, hash }
    }

    /// Compares in constant time.
    pub(crate) fn is(&self, shown: &[u8]) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.hash);
        hmac::verify(&key, &sha256(shown), hmac::sign(&key, &self.hash).as_ref()).is_ok()
    }

    /// Returns whether it may use a model.
    pub(crate) fn allows_model(&self, model: Option<&str>) -> bool {
        let model = model.unwrap_or_default();
        self.models.is_empty() || self.models.iter().any(|one| fits(one, model).is_some())
    }
}

impl From<Secret> for ClientKey {
    /// Makes a key with the name `key`.
    fn from(key: Secret) -> Self {
        Self::new("key", key)
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientKey").field("name", &self.name).finish_non_exhaustive()
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let hash = digest::digest(&digest::SHA256, bytes);
    hash.as_ref().first_chunk().copied().unwrap_or_default()
}

/// Reads `sha256:` and 64 hexadecimal digits.
pub(super) fn hash_of(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix("sha256:").filter(|digits| digits.len() == 64)?;
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(hash)
}

/// Returns whether a text is a path with or without a method.
pub(super) fn is_route(route: &str) -> bool {
    let (method, path) = route.split_once(' ').unwrap_or(("", route));
    method.bytes().all(|byte| byte.is_ascii_uppercase())
        && path.starts_with('/')
        && !path.contains(char::is_whitespace)
}
