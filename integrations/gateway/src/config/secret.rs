//! A text that is never shown.

use std::fmt;
use std::sync::Arc;

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
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
