//! Whom the gateway asks, and with whose key.

use http::Uri;

use super::models::fits;
use crate::secret::Secret;

/// A server that speaks one of the APIs.
///
/// ```
/// use cupel_gateway::{Upstream, UpstreamKey};
///
/// let upstream = Upstream::new("http://127.0.0.1:8000/v1/")?.key(UpstreamKey::None);
/// assert_eq!(upstream.url(), "http://127.0.0.1:8000/v1");
/// assert!(Upstream::new("api.openai.com").is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone)]
pub struct Upstream {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) key: UpstreamKey,
    pub(crate) models: Vec<String>,
}

/// Whose key an upstream is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum UpstreamKey {
    /// The client's: this upstream is its own, and sees its headers.
    #[default]
    Client,
    /// This one; the client's key stays here.
    Own(Secret),
    /// None; the client's key stays here.
    None,
}

impl Upstream {
    /// An upstream at this address, for all models, that is shown the client's key.
    ///
    /// # Errors
    ///
    /// An address that is none, in words.
    pub fn new(url: impl Into<String>) -> Result<Self, String> {
        let url: String = url.into();
        let expected = "expected http:// or https://, a host and a path, as in \
                        https://api.openai.com/v1";
        let seen = without_secrets(&url);
        let uri: Uri =
            url.parse().map_err(|error| format!("{seen:?} is no address ({error}), {expected}"))?;
        let scheme = uri.scheme_str();
        if !matches!(scheme, Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
            return Err(format!("{seen:?} is no address of a server, {expected}"));
        }
        if uri.query().is_some() || url.contains(['#', '@']) {
            let message = "has a user, a query or a fragment (keys have a place of their own)";
            return Err(format!("{seen:?} {message}, {expected}"));
        }
        let name = uri.host().unwrap_or_default().to_owned();
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { name, url, key: UpstreamKey::default(), models: Vec::new() })
    }

    /// Sets the name; the host unless set.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets whose key it is shown.
    #[must_use]
    pub fn key(mut self, key: UpstreamKey) -> Self {
        self.key = key;
        self
    }

    /// Claims models by name, or by the beginning of it with a `*` behind; all unless set.
    #[must_use]
    pub fn models<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.models = names.into_iter().map(Into::into).collect();
        self
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How well it fits a model; none when another is to be asked.
    pub(crate) fn claims(&self, model: Option<&str>) -> Option<usize> {
        if self.models.is_empty() {
            return Some(0);
        }
        let model = model?;
        self.models.iter().filter_map(|pattern| fits(pattern, model)).max()
    }
}

/// An address as it may be shown: without what could be a password or a key.
fn without_secrets(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    let (cut, after) = (if plain.len() < url.len() { "?***" } else { "" }, plain.rsplit_once('@'));
    match (after, plain.split_once("://")) {
        (Some((_, rest)), Some((scheme, _))) => format!("{scheme}://***@{rest}{cut}"),
        (Some((_, rest)), None) => format!("***@{rest}{cut}"),
        (None, _) => format!("{plain}{cut}"),
    }
}
