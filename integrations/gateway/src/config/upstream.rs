//! Upstreams and their keys, and rules for models.

use std::path::PathBuf;

use cupel::Policy;
use cupel::tokens::Encoding;
use cupel_json::CacheRule;
use http::Uri;

use super::UpstreamConnection;
use crate::credentials::Secret;

/// Server with one of the APIs.
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
    /// `None` for a server with both.
    pub(crate) protocol: Option<Protocol>,
    pub(crate) connection: UpstreamConnection,
}

/// Protocol of a client or an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// OpenAI's, which many servers follow.
    OpenAi,
    /// Anthropic's.
    Anthropic,
}

/// Key that an upstream gets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum UpstreamKey {
    /// The client's own key and headers.
    #[default]
    Client,
    /// This key. The client's key is removed.
    Own(Secret),
    /// No key. The client's key is removed.
    None,
}

impl Upstream {
    /// Makes an upstream for all models that gets the client's key.
    ///
    /// # Errors
    ///
    /// Returns why the address is not valid.
    pub fn new(url: impl Into<String>) -> Result<Self, String> {
        let url: String = url.into();
        let expected = "expected http:// or https://, a host and a path, such as \
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
        // Without this check an invalid port would be ignored, and the default port used.
        let authority = uri.authority().map_or("", http::uri::Authority::as_str);
        if authority != name && uri.port_u16().is_none_or(|port| port == 0) {
            return Err(format!("{seen:?} has an invalid port, expected one from 1 to 65535"));
        }
        let url = url.trim_end_matches('/').to_owned();
        let protocol = vendor(&name);
        let (key, connection) = (UpstreamKey::default(), UpstreamConnection::default());
        Ok(Self { name, url, key, models: Vec::new(), protocol, connection })
    }

    /// Sets the name; the host by default.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the key that it gets.
    #[must_use]
    pub fn key(mut self, key: UpstreamKey) -> Self {
        self.key = key;
        self
    }

    /// Sets its models: names, or beginnings with `*`. By default it takes all models.
    #[must_use]
    pub fn models<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.models = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets its only protocol. By default the servers of OpenAI and Anthropic have their own, and all
    /// others both.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = Some(protocol);
        self
    }

    /// Sets how to connect to it.
    #[must_use]
    pub fn connection(mut self, connection: UpstreamConnection) -> Self {
        self.connection = connection;
        self
    }

    /// Returns its address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns whether it is a server of OpenAI or Anthropic.
    pub(crate) fn is_vendors(&self) -> bool {
        self.url.parse::<Uri>().is_ok_and(|uri| vendor(uri.host().unwrap_or_default()).is_some())
    }

    /// Returns the same server with the address above `/v1`, where routes of its own are.
    pub(crate) fn without_version(&self) -> Self {
        let url = self.url.strip_suffix("/v1").unwrap_or(&self.url).to_owned();
        Self { url, ..self.clone() }
    }

    /// Returns how well it fits a model; `None` if it does not take the model.
    pub(crate) fn claims(&self, model: Option<&str>) -> Option<usize> {
        if self.models.is_empty() {
            return Some(0);
        }
        let model = model?;
        self.models.iter().filter_map(|pattern| fits(pattern, model)).max()
    }
}

/// Returns the protocol of OpenAI's and Anthropic's own servers.
fn vendor(host: &str) -> Option<Protocol> {
    let is_of = |domain: &str| {
        host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    match () {
        () if is_of("anthropic.com") => Some(Protocol::Anthropic),
        () if is_of("openai.com") => Some(Protocol::OpenAi),
        () => None,
    }
}

/// Returns the upstream of all requests, if there is only one.
pub(crate) fn only_upstream(upstreams: &[Upstream]) -> Option<&Upstream> {
    match upstreams {
        [only] if only.models.is_empty() => Some(only),
        _ => None,
    }
}

/// Finds the upstream that names a model; otherwise the default of the protocol. The default is the upstream
/// of this protocol that names no models or, for requests without a model, the only one of this protocol.
/// A single upstream that names no models gets all requests.
pub(crate) fn find_upstream<'a>(
    upstreams: &'a [Upstream],
    protocol: Protocol,
    model: Option<&str>,
) -> Option<&'a Upstream> {
    if let Some(only) = only_upstream(upstreams) {
        return Some(only);
    }
    let with_models = upstreams.iter().filter(|one| !one.models.is_empty());
    let claims = with_models.clone().filter_map(|one| Some((one.claims(model)?, one)));
    // If two fit equally well, the first is taken.
    if let Some((_, claiming)) = claims.rev().max_by_key(|(claim, _)| *claim) {
        return Some(claiming);
    }
    let defaults = upstreams.iter().filter(|one| one.models.is_empty());
    let speaking = defaults.filter(|one| one.protocol.is_none_or(|own| own == protocol));
    let default = speaking.rev().max_by_key(|one| one.protocol.is_some());
    let mut own = with_models.filter(|one| one.protocol == Some(protocol) && model.is_none());
    default.or_else(|| own.next().filter(|_| own.next().is_none()))
}

/// Removes parts of an address that could be a password or a key.
fn without_secrets(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    let (cut, after) = (if plain.len() < url.len() { "?***" } else { "" }, plain.rsplit_once('@'));
    match (after, plain.split_once("://")) {
        (Some((_, rest)), Some((scheme, _))) => format!("{scheme}://***@{rest}{cut}"),
        (Some((_, rest)), None) => format!("***@{rest}{cut}"),
        (None, _) => format!("{plain}{cut}"),
    }
}

/// Way to count a model's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CountMethod {
    /// With an encoding of OpenAI's.
    Exactly(Encoding),
    /// With an estimate, for models whose encoding is not built in.
    Estimate,
}

/// Rule by which definitions of tools count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolCount {
    /// By the rule that OpenAI published for its models.
    OpenAi,
    /// As JSON, as most chat templates of open models write them.
    Json,
}

/// Rule for a model, or for all models whose names begin alike.
///
/// ```
/// use cupel_gateway::ModelRule;
///
/// let rule = ModelRule::new("llama-*").window(32_768).factor(1.1);
/// # let _ = rule;
/// ```
#[derive(Debug, Clone)]
pub struct ModelRule {
    pub(crate) name: String,
    pub(crate) window: Option<i64>,
    pub(crate) at_most: Option<i64>,
    pub(crate) count: Option<CountMethod>,
    pub(crate) tokenizer: Option<PathBuf>,
    pub(crate) chat_template: Option<PathBuf>,
    pub(crate) single_digits: Option<bool>,
    pub(crate) tools: Option<ToolCount>,
    pub(crate) tokens_per_message: Option<i64>,
    pub(crate) factor: f64,
    pub(crate) policy: Option<Policy>,
    pub(crate) cache: Option<CacheRule>,
}

impl ModelRule {
    /// Makes a rule for a model, or for all models with this beginning if the name ends with `*`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            window: None,
            at_most: None,
            count: None,
            tokenizer: None,
            chat_template: None,
            single_digits: None,
            tools: None,
            tokens_per_message: None,
            factor: 1.0,
            policy: None,
            cache: None,
        }
    }

    /// Sets the window of prompt and answer together.
    #[must_use]
    pub fn window(mut self, tokens: i64) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Limits the part of the window that is used.
    #[must_use]
    pub fn at_most(mut self, tokens: i64) -> Self {
        self.at_most = Some(tokens);
        self
    }

    /// Sets the way to count.
    #[must_use]
    pub fn count(mut self, count: CountMethod) -> Self {
        self.count = Some(count);
        self
    }

    /// Counts exactly, by the model's `tokenizer.json` and the chat template beside it. The file is read when the
    /// gateway is built.
    #[must_use]
    pub fn tokenizer(mut self, file: impl Into<PathBuf>) -> Self {
        self.tokenizer = Some(file.into());
        self
    }

    /// Sets the chat template, if it is not the one beside the tokenizer.
    #[must_use]
    pub fn chat_template(mut self, file: impl Into<PathBuf>) -> Self {
        self.chat_template = Some(file.into());
        self
    }

    /// Sets if each digit is a token of its own, as for most open models. Encodings of OpenAI's take three.
    #[must_use]
    pub fn single_digits(mut self, single: bool) -> Self {
        self.single_digits = Some(single);
        self
    }

    /// Sets how definitions of tools count.
    #[must_use]
    pub fn tools(mut self, rule: ToolCount) -> Self {
        self.tools = Some(rule);
        self
    }

    /// Sets the tokens that the chat template adds to each message.
    #[must_use]
    pub fn tokens_per_message(mut self, tokens: i64) -> Self {
        self.tokens_per_message = Some(tokens);
        self
    }

    /// Sets how many tokens of the model one of ours stands for, as its `usage` shows.
    #[must_use]
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = factor;
        self
    }

    /// Sets how the prompt cache matches. By default requests get cache breakpoints only if they go to
    /// OpenAI and their model needs them.
    #[must_use]
    pub fn cache(mut self, rule: CacheRule) -> Self {
        self.cache = Some(rule);
        self
    }

    /// Sets the policy.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }
}

/// Returns how well a pattern fits a name: by its length, and the name itself best.
pub(crate) fn fits(pattern: &str, name: &str) -> Option<usize> {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning).then_some(beginning.len() + 1),
        None => (pattern == name).then_some(usize::MAX),
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
        let to =
            |protocol, model| find_upstream(&all, protocol, model).map(|one| one.name.as_str());
        assert_eq!(to(OpenAi, Some("gpt-5")), Some("openai"));
        assert_eq!(to(OpenAi, Some("llama-3")), Some("local"));
        assert_eq!(to(Anthropic, Some("llama-3")), Some("local"));
        assert_eq!(to(OpenAi, Some("claude-4")), Some("anthropic"));
        assert_eq!(to(OpenAi, None), Some("openai"));
        assert_eq!(to(Anthropic, None), Some("anthropic"));
        assert_eq!(to(Anthropic, Some("unknown")), None);
        let both = [upstream("both", None, &[]), upstream("anthropic", Some(Anthropic), &[])];
        let to = |protocol| find_upstream(&both, protocol, Some("m")).map(|one| one.name.as_str());
        assert_eq!((to(OpenAi), to(Anthropic)), (Some("both"), Some("anthropic")));
        let one = [upstream("anthropic", Some(Anthropic), &[])];
        assert!(
            find_upstream(&one, OpenAi, Some("claude-4")).is_some()
                && find_upstream(&one, OpenAi, None).is_some()
        );
        let one = [upstream("anthropic", Some(Anthropic), &["claude*"])];
        assert!(
            find_upstream(&one, Anthropic, None).is_some()
                && find_upstream(&one, OpenAi, None).is_none()
        );
        let two = [upstream("a", Some(Anthropic), &["a"]), upstream("b", Some(Anthropic), &["b"])];
        assert!(find_upstream(&two, Anthropic, None).is_none());
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

    #[test]
    fn the_longest_beginning_fits_best_and_the_name_itself_better() {
        assert!(fits("gpt-4o", "gpt-4o") > fits("gpt-*", "gpt-4o"));
        assert!(fits("gpt-*", "gpt-4o") > fits("*", "gpt-4o"));
        assert_eq!(fits("gpt-4", "gpt-4o"), None);
        assert!(fits("*", "").is_some());
    }
}
