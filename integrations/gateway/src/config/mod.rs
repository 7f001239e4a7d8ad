//! Configuration of a gateway: addresses, upstreams, models, limits, sources and the page.

mod client_key;
mod compaction;
mod connection;
mod meaning;
mod read;
mod receipts;
mod rollout;
mod upstream;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use cupel::Policy;
use cupel::gather::Source;
use ipnet::IpNet;

use crate::credentials::{CallerBody, Secret};
pub use client_key::ClientKey;
use client_key::is_route;
pub use compaction::SummaryModel;
pub use connection::{TlsRoots, UpstreamConnection};
pub use meaning::Meaning;
pub use receipts::ReceiptConfig;
pub use rollout::{GatewayMode, Rollout};
pub use upstream::{CountMethod, ModelRule, Protocol, ToolCount, Upstream, UpstreamKey};
pub(crate) use upstream::{find_upstream, fits, only_upstream};

/// Default port.
pub const PORT: u16 = 4141;

/// Configuration of a [`Gateway`](crate::Gateway).
///
/// ```
/// use cupel_gateway::{Config, Upstream};
///
/// let config = Config::new(Upstream::new("https://api.openai.com/v1")?);
/// assert!(config.listen.ip().is_loopback());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Address to listen on; the loopback address by default.
    pub listen: SocketAddr,
    /// Host names that clients may use besides the address, with or without a port.
    pub hosts: Vec<String>,
    /// Servers that requests are sent to. A request without a model, or with a model that no upstream names,
    /// goes to the upstream of its protocol that names no models.
    pub upstreams: Vec<Upstream>,
    /// Rules for models that the built-in table does not know, or knows otherwise.
    pub models: Vec<ModelRule>,
    /// Policy of every selection.
    pub policy: Policy,
    /// Window of all models that no rule has a window for, whatever the built-in table says.
    pub window: Option<i64>,
    /// Most tokens of prompt and answer together, however large the window is. If nothing else is known of a
    /// model, it is the window.
    pub at_most: Option<i64>,
    /// Window of models that the built-in table does not know, and of open models in it, whose window is the
    /// server's setting. Without it the upstream is asked. If the upstream does not tell it either, requests
    /// are sent unchanged.
    pub unknown_window: Option<i64>,
    /// Share of the window, from 0 to 1, from which the upstream is asked for its own count of a request. A
    /// request from which something was dropped is always counted. One that is too long by that count is fitted
    /// again, and so is one that could have kept more. Never by default.
    ///
    /// Anthropic and llama.cpp count all that they speak, OpenAI counts Responses, and vLLM Chat Completions.
    pub exact_from: Option<f64>,
    /// Refuses requests that cannot be read or fitted, instead of sending them unchanged.
    pub fail_closed: bool,
    /// Share of the conversations that are fitted.
    pub rollout: Rollout,
    /// Limits of sizes and times.
    pub limits: GatewayLimits,
    /// Keys of the gateway's clients. Without any, everybody who can reach the gateway may use it.
    pub keys: Vec<ClientKey>,
    /// More routes that clients may use with an upstream's own key: a path below `/v1` with or without a
    /// method, such as `GET /files` or `/batches*`.
    ///
    /// If the gateway has several `keys`, or none, its clients share the upstream's key. Routes that store
    /// things would then show one client the files and answers of another, so they are closed.
    pub routes: Vec<String>,
    /// Remembers conversations of callers without a key. All of them are one tenant.
    pub anonymous_memory: bool,
    /// Retrievers that every request asks.
    pub sources: Vec<Retriever>,
    /// Sources in code, for programs that embed the gateway.
    pub code_sources: Vec<Source<CallerBody>>,
    /// Embedding model that judges beside the words what is recalled.
    pub meaning: Option<Meaning>,
    /// Memory across conversations.
    pub memory: Option<Memory>,
    /// Model that summarises what left the window of conversations that have a name; none by default.
    pub compaction: Option<SummaryModel>,
    /// Key of the hash that tells tenants apart. Gateways with the same key know the same tenants.
    pub tenant_secret: Option<Secret>,
    /// Page of recent calls.
    pub page: PageConfig,
    /// One line in the log for each request.
    pub access_log: AccessLog,
    /// Address of the metrics. Without one there are none.
    pub metrics_listen: Option<SocketAddr>,
    /// Receipts of calls. By default none are written.
    pub receipts: Option<ReceiptConfig>,
    /// Looks for repeats after a cut, beside the calls.
    pub count_repeats: bool,
    /// Writes names of conversations into spans, instead of their hashes.
    pub conversation_names: bool,
}

impl Config {
    /// Configures a gateway on the loopback address in front of one upstream.
    #[must_use]
    pub fn new(upstream: Upstream) -> Self {
        Self::with(vec![upstream])
    }

    fn with(upstreams: Vec<Upstream>) -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT),
            hosts: Vec::new(),
            upstreams,
            models: Vec::new(),
            policy: Policy::chat(),
            window: None,
            at_most: None,
            unknown_window: None,
            exact_from: None,
            fail_closed: false,
            rollout: Rollout::default(),
            limits: GatewayLimits::default(),
            keys: Vec::new(),
            routes: Vec::new(),
            anonymous_memory: false,
            sources: Vec::new(),
            code_sources: Vec::new(),
            meaning: None,
            memory: None,
            compaction: None,
            tenant_secret: None,
            page: PageConfig::default(),
            access_log: AccessLog::default(),
            metrics_listen: None,
            receipts: None,
            count_repeats: true,
            conversation_names: false,
        }
    }

    /// Lists settings that contradict each other or would give a key away.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.upstreams.is_empty() {
            problems.push("upstreams: there is none, expected at least one".to_owned());
        }
        let tokens = [
            ("window", self.window),
            ("at_most", self.at_most),
            ("unknown_window", self.unknown_window),
        ];
        for (key, tokens) in tokens {
            if let Some(tokens @ ..=0) = tokens {
                problems.push(format!("{key}: must be at least 1, got {tokens}"));
            }
        }
        problems.extend(self.rollout.problems());
        for (index, host) in self.hosts.iter().enumerate() {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
            if host.is_empty() || !host.bytes().all(is_name) {
                problems.push(format!(
                    "hosts[{index}]: {host:?} is no name of a server, expected a name such as \
                     llm.example.org, with or without a port"
                ));
            }
        }
        let mut routes = vec![("routes".to_owned(), &self.routes)];
        let of_keys = self.keys.iter().enumerate();
        routes.extend(of_keys.map(|(index, key)| (format!("keys[{index}].routes"), &key.routes)));
        for (path, routes) in routes {
            for (index, route) in routes.iter().enumerate().filter(|(_, route)| !is_route(route)) {
                problems.push(format!(
                    "{path}[{index}]: {route:?} is no route, expected a path with or without a method, \
                     such as \"GET /files\" or \"/batches*\""
                ));
            }
        }
        let has_own_key = |upstream: &Upstream| matches!(upstream.key, UpstreamKey::Own(_));
        let open = self.keys.is_empty() && !self.listen.ip().is_loopback();
        if let (true, Some(upstream)) = (open, self.upstreams.iter().find(|one| has_own_key(one))) {
            problems.push(format!(
                "keys: upstream {:?} has a key of its own and {} is no loopback address, so everybody \
                 who reaches the gateway could use that key; expected keys for its clients",
                upstream.name, self.listen,
            ));
        }
        for (index, upstream) in self.upstreams.iter().enumerate() {
            let others = self.upstreams.get(..index).unwrap_or_default();
            if others.iter().any(|other| other.name == upstream.name) {
                problems.push(format!(
                    "upstreams[{index}].name: there is another {:?}, expected a name of its own",
                    upstream.name
                ));
            }
            if upstream.connection.http2 && upstream.url.starts_with("http:") {
                let message = "true, but HTTP/2 is used with https only, expected an https address";
                problems.push(format!("upstreams[{index}].http2: {message}"));
            }
            let is_default = |one: &Upstream| one.models.is_empty();
            let same = |other: &&Upstream| {
                is_default(other) && is_default(upstream) && other.protocol == upstream.protocol
            };
            if let Some(other) = others.iter().find(same) {
                problems.push(format!(
                    "upstreams[{index}].models: missing, and {:?} takes all models of this protocol \
                     already; expected names of models, or another protocol",
                    other.name
                ));
            }
            for model in &upstream.models {
                if let Some(other) = others.iter().find(|other| other.models.contains(model)) {
                    let message = format!("{model:?} is also claimed by {:?}", other.name);
                    problems.push(format!("upstreams[{index}].models: {message}, expected one"));
                }
            }
        }
        if let Some(meaning) = &self.meaning {
            problems.extend(meaning.problems());
            let rules = self.models.iter().enumerate();
            let policies = rules.filter_map(|(index, rule)| {
                Some((format!("models[{index}].policy"), rule.policy.as_ref()?))
            });
            for (path, policy) in
                std::iter::once(("policy".to_owned(), &self.policy)).chain(policies)
            {
                if policy.relevance().is_none() {
                    problems.push(format!(
                        "meaning: {path} has no relevance, which says whether there is anything to ask; \
                         expected relevance = \"lexical\" in it, or no meaning"
                    ));
                }
            }
        }
        problems.extend(self.compaction.iter().flat_map(|it| it.problems(&self.upstreams)));
        if self.memory.is_some() {
            if cfg!(not(feature = "archive")) {
                let message = "archive: this binary was built without the feature `archive`";
                problems.push(message.to_owned());
            }
            if self.tenant_secret.is_none() {
                let message = "tenant_secret: missing; without it an archive recognizes no tenant \
                               after a restart";
                problems.push(message.to_owned());
            }
        }
        problems
    }
}

/// Everything that is wrong with a configuration, one line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct GatewayConfigError(pub Vec<String>);

/// Limits of a gateway. A request beyond a limit is refused or cut off.
///
/// ```
/// use cupel_gateway::GatewayLimits;
///
/// let limits = GatewayLimits { body_bytes: 4 << 20, ..GatewayLimits::default() };
/// assert_eq!(limits.depth, 128);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayLimits {
    /// Size of a body that is read. Other bodies are streamed.
    pub body_bytes: usize,
    /// Nesting depth of its JSON.
    pub depth: usize,
    /// Number of its messages.
    pub messages: usize,
    /// Size of all bodies together that are read or selected in.
    pub waiting_bytes: usize,
    /// Connections at one time. Further ones wait.
    pub connections: usize,
    /// Time for a client to send a body that is read.
    pub body_time: Duration,
    /// Time for gathering and selecting.
    pub selection_time: Duration,
    /// Time for an upstream to count a request, or to tell a window.
    pub count_time: Duration,
    /// Time for an upstream to begin its answer.
    pub answer_time: Duration,
    /// Time without a byte in a body, in either direction.
    pub stall_time: Duration,
    /// Time for streams to end when the gateway stops.
    pub shutdown_time: Duration,
}

impl Default for GatewayLimits {
    fn default() -> Self {
        Self {
            body_bytes: 32 << 20,
            depth: 128,
            messages: 20_000,
            waiting_bytes: 512 << 20,
            connections: 4_096,
            body_time: Duration::from_secs(60),
            selection_time: Duration::from_secs(10),
            count_time: Duration::from_secs(2),
            answer_time: Duration::from_secs(600),
            stall_time: Duration::from_secs(300),
            shutdown_time: Duration::from_secs(30),
        }
    }
}

/// Access log: one line for each request, without content.
///
/// ```
/// use cupel_gateway::AccessLog;
///
/// assert!(AccessLog::default().enabled);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AccessLog {
    /// Set unless no line is written.
    pub enabled: bool,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
}

impl Default for AccessLog {
    fn default() -> Self {
        Self { enabled: true, trusted_proxies: Vec::new() }
    }
}

/// Page of recent calls: its token, and how much it remembers.
///
/// ```
/// use cupel_gateway::PageConfig;
///
/// assert!(PageConfig::default().token.is_none());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PageConfig {
    /// Token for the login. Without one there is no page.
    pub token: Option<Secret>,
    /// File that the binary writes the token to, for its owner only. By default a terminal shows it.
    pub token_file: Option<PathBuf>,
    /// Approximate bytes of recent calls that are remembered.
    pub bytes: usize,
}

impl Default for PageConfig {
    fn default() -> Self {
        Self { token: None, token_file: None, bytes: 64 << 20 }
    }
}

/// Retriever over HTTP. It gets `{"query": …, "limit": …}` and answers with a list of
/// `{"text": …, "score": …}`, or with one such object a line.
///
/// ```
/// use cupel_gateway::Retriever;
///
/// let retriever = Retriever::new("manual", "http://127.0.0.1:9000/search");
/// assert_eq!(retriever.items, 50);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Retriever {
    /// Name in reports.
    pub name: String,
    /// Address.
    pub url: String,
    /// Key for the retriever. It never gets the client's key.
    pub key: Option<Secret>,
    /// Time limit. Items that arrived before it are used.
    pub deadline: Duration,
    /// Most items that are taken.
    pub items: usize,
    /// Largest answer in bytes.
    pub bytes: usize,
    /// Set if requests fail without it.
    pub required: bool,
}

impl Retriever {
    /// Configures a retriever with 500 ms for 50 items in 1 MiB.
    #[must_use]
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            url: url.into(),
            key: None,
            deadline: Duration::from_millis(500),
            items: 50,
            bytes: 1 << 20,
            required: false,
        }
    }
}

/// Archive of conversations, as memory across them.
///
/// ```
/// use cupel_gateway::{Memory, Secret};
///
/// let memory = Memory::new(Secret::new("sqlite:///var/lib/cupel/archive.db"));
/// assert_eq!(memory.items, 20);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Memory {
    /// Address: `sqlite://file` or `postgres://user:password@host/database`.
    pub url: Secret,
    /// Most messages of other conversations in one request.
    pub items: usize,
    /// Time limit of a search.
    pub deadline: Duration,
    /// Bytes that may wait to be written. Turns beyond them are dropped and counted.
    pub waiting_bytes: usize,
    /// Set if the gateway must not start without it. By default it starts without memory and tries again.
    pub required: bool,
}

impl Memory {
    /// Configures an archive with 250 ms for 20 messages.
    #[must_use]
    pub fn new(url: Secret) -> Self {
        let deadline = Duration::from_millis(250);
        Self { url, items: 20, deadline, required: false, waiting_bytes: 128 << 20 }
    }
}
