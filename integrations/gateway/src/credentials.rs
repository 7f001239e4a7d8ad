//! Keys, tenants and callers: secrets that are never printed, and who a request comes from.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use cupel_json::JsonBody;
use http::{HeaderMap, HeaderValue};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac};

/// Key or password. Neither `Debug` nor a log prints it.
///
/// ```
/// use cupel_gateway::Secret;
///
/// let key = Secret::new("sk-1");
/// assert_eq!(format!("{key:?}"), "***");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Compares in constant time.
    pub(crate) fn is(&self, shown: &[u8]) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        let tag = hmac::sign(&key, self.0.as_bytes());
        hmac::verify(&key, shown, tag.as_ref()).is_ok()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Error message where the system gives no random bytes.
pub(crate) const NO_RANDOMNESS: &str = "the operating system gave no random bytes";

/// Returns 32 random bytes in hexadecimal, or `None` if the system gives no random bytes.
#[must_use]
pub fn random_token() -> Option<String> {
    random::<32>().map(|bytes| hex(&bytes))
}

/// Returns random bytes, or `None` if the system gives none.
pub(crate) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).ok().map(|()| bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Headers in which clients send their keys.
pub(crate) const CREDENTIAL_HEADERS: [&str; 6] = [
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "ocp-apim-subscription-key",
    "cookie",
];

/// Header for a gateway key, if the usual header carries the key of the upstream.
const KEY: &str = "x-cupel-key";

/// Returns the key that the caller shows to the gateway.
pub(crate) fn gateway_key(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(KEY).map(HeaderValue::as_bytes).or_else(|| credential(headers))
}

/// Returns the key in the usual headers.
fn credential(headers: &HeaderMap) -> Option<&[u8]> {
    let mut names = CREDENTIAL_HEADERS.into_iter().filter(|name| *name != "cookie");
    names.find_map(|name| headers.get(name)).map(|value| without_scheme(value.as_bytes()))
}

/// Removes a leading `Bearer`.
pub(crate) fn without_scheme(value: &[u8]) -> &[u8] {
    match value.split_at_checked(7) {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case(b"bearer ") => key.trim_ascii(),
        _ => value,
    }
}

/// Header with the name of the conversation.
const CONVERSATION: &str = "x-cupel-conversation";

/// Longest name of a conversation.
const NAME_BYTES: usize = 256;

/// Tells tenants apart by a keyed hash of their credentials.
#[derive(Debug, Clone)]
pub(crate) struct Tenants {
    key: hmac::Key,
    /// Set if callers without a credential are remembered, all as one tenant.
    remembers_anonymous: bool,
}

/// Body of a request, with its caller.
pub type CallerBody = JsonBody<Caller>;

/// Caller of a request: the tenant and the conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Caller {
    /// Keyed hash of the credentials.
    pub(crate) tenant: String,
    /// Name that the caller gave the conversation.
    pub(crate) conversation: Option<String>,
    /// Set if the archive keeps this caller's messages. Callers without a credential would share a tenant.
    #[cfg_attr(not(feature = "archive"), allow(dead_code))]
    pub(crate) is_remembered: bool,
    /// Ratio of the model's own count of this request to ours, if the model was asked.
    pub(crate) counted: Option<f32>,
    /// Window that the upstream told.
    pub(crate) window: Option<i64>,
}

impl Tenants {
    /// Gateways with the same secret know the same tenants. Without a secret a random one is used.
    ///
    /// Returns `None` if the system gives no random bytes.
    pub(crate) fn new(secret: Option<&Secret>, remembers_anonymous: bool) -> Option<Self> {
        let random = random::<32>()?;
        let secret = secret.map_or(&random[..], |secret| secret.expose().as_bytes());
        Some(Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret), remembers_anonymous })
    }

    /// Returns the tenants of another configuration; without a new secret the key stays.
    pub(crate) fn renewed(&self, secret: Option<&Secret>, remembers_anonymous: bool) -> Self {
        let key = |secret: &Secret| hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
        Self { key: secret.map_or_else(|| self.key.clone(), key), remembers_anonymous }
    }

    /// Finds the caller. The tenant comes from credentials only, never from another header.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Caller {
        let own = headers.get(KEY).map(HeaderValue::as_bytes).unwrap_or_default();
        let credential = credential(headers).unwrap_or_default();
        let mut context = hmac::Context::with_key(&self.key);
        if !own.is_empty() && !credential.is_empty() {
            // Clients that share a gateway key and have different upstream keys are different tenants.
            // The length keeps two keys apart from one key that is both of them joined.
            context.update(&u64::try_from(own.len()).unwrap_or(u64::MAX).to_le_bytes());
        }
        context.update(own);
        context.update(credential);
        let tenant = hex(context.sign().as_ref().get(..16).unwrap_or_default());
        let is_remembered = self.remembers_anonymous || !own.is_empty() || !credential.is_empty();
        let conversation = headers.get(CONVERSATION).filter(|name| !name.is_empty());
        let conversation = conversation.map(|name| name_of(name.as_bytes()));
        Caller { tenant, conversation, is_remembered, counted: None, window: None }
    }
}

/// Returns a conversation's name. A name that is too long or not UTF-8 is cut, and ends with its hash so
/// that different names stay different.
fn name_of(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) if text.len() <= NAME_BYTES => text.to_owned(),
        _ => {
            let beginning = name.get(..NAME_BYTES / 8).unwrap_or(name);
            let hash = digest::digest(&digest::SHA256, name);
            format!("{}#{}", String::from_utf8_lossy(beginning), hex(hash.as_ref()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_text_is_the_same() {
        let secret = Secret::new("secret");
        assert!(secret.is(b"secret"));
        for other in [&b""[..], b"secre", b"secrets", b"Secret"] {
            assert!(!secret.is(other));
        }
    }

    #[test]
    fn a_tenant_is_known_by_its_credential_alone() {
        let tenants = Tenants::new(Some(&Secret::new("s")), false).unwrap();
        let caller = |lines: &[(&'static str, &'static str)]| {
            let lines = lines.iter().map(|(name, value)| {
                (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))
            });
            tenants.caller(&lines.collect())
        };
        let one = caller(&[("authorization", "Bearer sk-1"), ("x-cupel-conversation", "a")]);
        let other = caller(&[("authorization", "Bearer sk-2"), ("x-cupel-conversation", "a")]);
        assert_ne!(one.tenant, other.tenant);
        assert_eq!(one.conversation.as_deref(), Some("a"));
        assert_eq!(one.tenant, caller(&[("x-api-key", "sk-1")]).tenant);
        assert!(!one.tenant.contains("sk-1"));
        // A key of the gateway's that two share makes them no one tenant, and no header lets one in
        // where the other is.
        let shared = caller(&[("x-cupel-key", "gate"), ("authorization", "Bearer sk-1")]);
        let beside = caller(&[("x-cupel-key", "gate"), ("authorization", "Bearer sk-2")]);
        assert_ne!(shared.tenant, beside.tenant);
        assert_ne!(shared.tenant, one.tenant);
        assert_eq!(caller(&[("x-cupel-key", "sk-1")]).tenant, one.tenant);
        // Another gateway with the same secret knows them; one without does not.
        let again = Tenants::new(Some(&Secret::new("s")), false).unwrap();
        let headers =
            HeaderMap::from_iter([(http::header::AUTHORIZATION, "Bearer sk-1".parse().unwrap())]);
        assert_eq!(again.caller(&headers).tenant, one.tenant);
        assert_ne!(Tenants::new(None, false).unwrap().caller(&headers).tenant, one.tenant);
    }

    #[test]
    fn names_of_conversations_that_differ_stay_different() {
        let long = "x".repeat(300);
        let names =
            [&long[..256], &long[..257], &long[..258], "x"].map(|name| name_of(name.as_bytes()));
        for (index, name) in names.iter().enumerate() {
            assert!(name.len() <= NAME_BYTES && !names[..index].contains(name), "{name}");
        }
        assert_ne!(name_of(b"\xff"), name_of(b"\xfe"));
        assert!(name_of(&[0xff; 300]).len() <= NAME_BYTES);
    }

    #[test]
    fn a_key_is_found_wherever_clients_put_it() {
        let key = |name: &'static str, value: &str| {
            let headers = HeaderMap::from_iter([(
                http::HeaderName::from_static(name),
                value.parse().unwrap(),
            )]);
            credential(&headers).map(<[u8]>::to_vec)
        };
        assert_eq!(key("authorization", "Bearer sk-1").unwrap(), b"sk-1");
        assert_eq!(key("authorization", "bearer  sk-1").unwrap(), b"sk-1");
        assert_eq!(key("x-api-key", "sk-1").unwrap(), b"sk-1");
        assert_eq!(key("api-key", "sk-1").unwrap(), b"sk-1");
        assert_eq!(key("cookie", "sk-1"), None);
    }
}
