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
    /// None for a server that speaks both.
    pub(crate) protocol: Option<Protocol>,
}

/// Protocol that a client or an upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// OpenAI's, and of the many servers that follow it.
    OpenAi,
    /// Anthropic's.
    Anthropic,
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
        // What is no port would be taken for none, and the usual one asked.
        let authority = uri.authority().map_or("", http::uri::Authority::as_str);
        if authority != name && uri.port_u16().is_none_or(|port| port == 0) {
            return Err(format!("{seen:?} has a port that is none, expected one from 1 to 65535"));
        }
        let url = url.trim_end_matches('/').to_owned();
        let is_of = |domain: &str| {
            name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let protocol = match () {
            () if is_of("anthropic.com") => Some(Protocol::Anthropic),
            () if is_of("openai.com") => Some(Protocol::OpenAi),
            () => None,
        };
        Ok(Self { name, url, key: UpstreamKey::default(), models: Vec::new(), protocol })
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

    /// Sets the only protocol it speaks. Unless set, the servers of OpenAI and Anthropic speak their own,
    /// and all others both.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = Some(protocol);
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

/// The upstream of all requests, if there is one.
pub(crate) fn only(upstreams: &[Upstream]) -> Option<&Upstream> {
    match upstreams {
        [only] if only.models.is_empty() => Some(only),
        _ => None,
    }
}

/// The upstream that claims a model; otherwise the default of the protocol: the upstream of this protocol
/// that claims no models, or the only one that is of no other. A single upstream without models is asked for
/// everything: there is nobody else whose request it could be.
pub(crate) fn route<'a>(
    upstreams: &'a [Upstream],
    protocol: Protocol,
    model: Option<&str>,
) -> Option<&'a Upstream> {
    if let Some(only) = only(upstreams) {
        return Some(only);
    }
    let with_models = upstreams.iter().filter(|one| !one.models.is_empty());
    let claims = with_models.clone().filter_map(|one| Some((one.claims(model)?, one)));
    // Of two that fit alike the first counts.
    if let Some((_, claiming)) = claims.rev().max_by_key(|(claim, _)| *claim) {
        return Some(claiming);
    }
    let defaults = upstreams.iter().filter(|one| one.models.is_empty());
    let speaking = defaults.filter(|one| one.protocol.is_none_or(|own| own == protocol));
    let default = speaking.rev().max_by_key(|one| one.protocol.is_some());
    let mut own = with_models.filter(|one| one.protocol == Some(protocol) && model.is_none());
    default.or_else(|| own.next().filter(|_| own.next().is_none()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(name: &str, protocol: Option<Protocol>, models: &[&str]) -> Upstream {
        let one = Upstream::new("http://a.example").unwrap().name(name).models(models.to_vec());
        Upstream { protocol, ..one }
    }

    #[test]
    fn an_upstream_is_found_by_model_and_then_by_protocol() {
        use Protocol::{Anthropic, OpenAi};
        let all = [
            upstream("openai", Some(OpenAi), &[]),
            upstream("anthropic", Some(Anthropic), &["claude*"]),
            upstream("local", None, &["llama*"]),
        ];
        let to = |protocol, model| route(&all, protocol, model).map(|one| one.name.as_str());
        assert_eq!(to(OpenAi, Some("gpt-5")), Some("openai"));
        assert_eq!(to(OpenAi, Some("llama-3")), Some("local"));
        assert_eq!(to(Anthropic, Some("llama-3")), Some("local"));
        assert_eq!(to(OpenAi, Some("claude-4")), Some("anthropic"));
        assert_eq!(to(OpenAi, None), Some("openai"));
        assert_eq!(to(Anthropic, None), Some("anthropic"));
        assert_eq!(to(Anthropic, Some("unknown")), None);
        let both = [upstream("both", None, &[]), upstream("anthropic", Some(Anthropic), &[])];
        let to = |protocol| route(&both, protocol, Some("m")).map(|one| one.name.as_str());
        assert_eq!((to(OpenAi), to(Anthropic)), (Some("both"), Some("anthropic")));
        let one = [upstream("anthropic", Some(Anthropic), &[])];
        assert!(
            route(&one, OpenAi, Some("claude-4")).is_some() && route(&one, OpenAi, None).is_some()
        );
        let one = [upstream("anthropic", Some(Anthropic), &["claude*"])];
        assert!(route(&one, Anthropic, None).is_some() && route(&one, OpenAi, None).is_none());
        let two = [upstream("a", Some(Anthropic), &["a"]), upstream("b", Some(Anthropic), &["b"])];
        assert!(route(&two, Anthropic, None).is_none());
    }

    #[test]
    fn a_port_is_one() {
        for url in ["http://a:99999/v1", "http://a:/v1", "http://a:0/v1", "http://[::1]:65536"] {
            let error = Upstream::new(url).unwrap_err();
            assert!(error.contains("expected one from 1 to 65535"), "{url}: {error}");
        }
        for url in ["http://a:65535/v1", "http://a/v1", "http://[::1]:80", "https://[::1]/v1"] {
            assert!(Upstream::new(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn the_protocol_of_known_servers_is_known() {
        let of = |url: &str| Upstream::new(url).unwrap().protocol;
        assert_eq!(of("https://api.openai.com/v1"), Some(Protocol::OpenAi));
        assert_eq!(of("https://api.anthropic.com/v1"), Some(Protocol::Anthropic));
        assert_eq!(of("https://notanthropic.com/v1"), None);
        assert_eq!(of("http://127.0.0.1:8000/v1"), None);
    }
}
