//! Keys and passwords that are never shown, and texts that nobody can guess.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// A key or a password. It is not printed, by nobody.
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
    /// Keeps a text.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether a text is the same, in a time that tells nothing about where it differs.
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

/// A text that nobody can guess; none where the system has no randomness to give.
#[must_use]
pub fn random_token() -> Option<String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(hex(&bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn only_the_same_text_is_the_same() {
        let secret = Secret::new("secret");
        assert!(secret.is(b"secret"));
        for other in [&b""[..], b"secre", b"secrets", b"Secret"] {
            assert!(!secret.is(other));
        }
    }
}
