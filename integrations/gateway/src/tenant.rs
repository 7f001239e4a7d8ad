//! Whose conversations are whose.

use http::HeaderMap;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac};

use cupel_json::JsonBody;

use crate::proxy::headers;
use crate::secret::{Secret, hex};

/// Names a conversation inside a tenant.
const CONVERSATION: &str = "x-cupel-conversation";

/// A conversation's name is no longer than this.
const NAME_BYTES: usize = 256;

/// Tells tenants apart by a keyed hash of their credentials.
#[derive(Debug)]
pub(crate) struct Tenants {
    key: hmac::Key,
    /// Remembers callers without a credential, as one tenant.
    remembers_anonymous: bool,
}

/// A request's body, and who asks.
pub type CallerBody = JsonBody<Caller>;

/// Who asks, and in which conversation. It rides along with a request's body.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Caller {
    /// A keyed hash: nobody learns a credential from it.
    pub(crate) tenant: String,
    /// What the caller calls the conversation, if anything.
    pub(crate) conversation: Option<String>,
    /// Set if the archive keeps what is said. Everybody without a credential would be one tenant.
    #[cfg_attr(not(feature = "archive"), allow(dead_code))]
    pub(crate) is_remembered: bool,
    /// What the model's own count of this request is of ours, where it was asked for.
    pub(crate) counted: Option<f32>,
}

impl Tenants {
    /// Gateways with the same secret know the same tenants; without one nobody else does.
    ///
    /// None where the system has no randomness to give.
    pub(crate) fn new(secret: Option<&Secret>, remembers_anonymous: bool) -> Option<Self> {
        let mut random = [0; 32];
        SystemRandom::new().fill(&mut random).ok()?;
        let secret = secret.map_or(&random[..], |secret| secret.expose().as_bytes());
        Some(Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret), remembers_anonymous })
    }

    /// Who asks. A header names a conversation, and never a tenant.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Caller {
        let identity = headers::identity(headers);
        let is_remembered = self.remembers_anonymous || identity != [b"", b""];
        let tag = match identity {
            [own, b""] => hmac::sign(&self.key, own),
            [b"", credential] => hmac::sign(&self.key, credential),
            // Two who share a key of the gateway's and each have one for the upstream are two. The
            // length keeps what is one key from being taken for two.
            [own, credential] => {
                let mut context = hmac::Context::with_key(&self.key);
                context.update(&u64::try_from(own.len()).unwrap_or(u64::MAX).to_le_bytes());
                context.update(own);
                context.update(credential);
                context.sign()
            }
        };
        let tenant = hex(tag.as_ref().get(..16).unwrap_or_default());
        let conversation = headers.get(CONVERSATION).filter(|name| !name.is_empty());
        let conversation = conversation.map(|name| name_of(name.as_bytes()));
        Caller { tenant, conversation, is_remembered, counted: None }
    }
}

/// A conversation's name. One that is too long, or is no text, ends with a hash of it: names that differ
/// stay different.
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
}
