//! What a gateway is told: where to listen, whom to ask, what fits, and how much is too much.

mod models;
mod read;
mod sources;
mod upstream;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use cupel::Policy;
use cupel::gather::Source;

use crate::secret::Secret;
use crate::tenant::CallerBody;
pub(crate) use models::fits;
pub use models::{Count, ModelRule};
pub use sources::{Memory, Retriever};
pub use upstream::{Protocol, Upstream, UpstreamKey};
pub(crate) use upstream::{only, route};

/// The port unless another is said.
pub const PORT: u16 = 4141;

/// Everything a [`Gateway`](crate::Gateway) is told.
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
    /// Where to listen; the loopback address unless set.
    pub listen: SocketAddr,
    /// Names that clients may call this server by, besides its own address; with or without a port.
    pub hosts: Vec<String>,
    /// Whom to ask. What names no model, or one that nobody claims, goes to the upstream of its protocol
    /// that claims none.
    pub upstreams: Vec<Upstream>,
    /// What is known of models beyond the built-in table, or otherwise.
    pub models: Vec<ModelRule>,
    /// The policy of every selection.
    pub policy: Policy,
    /// Prompt and answer together, at most, whatever the window is.
    pub at_most: Option<i64>,
    /// The window of models that nothing is known about; without it their requests pass as they
    /// came.
    pub unknown_window: Option<i64>,
    /// From which share of a window on `/v1/messages/count_tokens` is asked for the model's own count
    /// of a request, which is fitted again if it turns out to be too long; never unless set. Only for
    /// Anthropic's Messages, whose tokenizer is not public.
    pub exact_from: Option<f64>,
    /// Refuses what cannot be fitted or read, instead of sending it as it came.
    pub fail_closed: bool,
    /// How much is too much.
    pub limits: Limits,
    /// Keys that clients of this gateway must show; none: everybody who can reach it may ask.
    pub keys: Vec<Secret>,
    /// Routes that clients may use of an upstream's own key, besides those that ask a model something: a
    /// path below `/v1` with or without a method, `GET /files` or `/batches*`.
    ///
    /// Nothing else passes with the key of an upstream when the gateway has several `keys`, or none: its
    /// clients are several, and an API gives whoever has its key everybody's files and answers.
    pub routes: Vec<String>,
    /// Remembers what callers say who show no key. All of them are one tenant.
    pub anonymous_memory: bool,
    /// Retrievers that are asked for every request.
    pub sources: Vec<Retriever>,
    /// Sources in code, for programs that serve a gateway of their own.
    pub code_sources: Vec<Source<CallerBody>>,
    /// Memory across conversations.
    pub memory: Option<Memory>,
    /// The key of the hash that tells tenants apart; gateways that share it know the same tenants.
    pub tenant_secret: Option<Secret>,
    /// The page of recent calls.
    pub page: Page,
}

impl Config {
    /// A gateway on the loopback address in front of one upstream.
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
            at_most: None,
            unknown_window: None,
            exact_from: None,
            fail_closed: false,
            limits: Limits::default(),
            keys: Vec::new(),
            routes: Vec::new(),
            anonymous_memory: false,
            sources: Vec::new(),
            code_sources: Vec::new(),
            memory: None,
            tenant_secret: None,
            page: Page::default(),
        }
    }

    /// What makes no sense together, or would give a key away; empty when there is nothing.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.upstreams.is_empty() {
            problems.push("upstreams: there is none, expected at least one".to_owned());
        }
        for (key, tokens) in [("at_most", self.at_most), ("unknown_window", self.unknown_window)] {
            if let Some(tokens @ ..=0) = tokens {
                problems.push(format!("{key}: must be at least 1, got {tokens}"));
            }
        }
        for (index, host) in self.hosts.iter().enumerate() {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
            if host.is_empty() || !host.bytes().all(is_name) {
                problems.push(format!(
                    "hosts[{index}]: {host:?} is no name of a server, expected one as in \
                     llm.example.org, with or without a port"
                ));
            }
        }
        for (index, route) in self.routes.iter().enumerate() {
            let (method, path) = route.split_once(' ').unwrap_or(("", route));
            let is_method = method.bytes().all(|byte| byte.is_ascii_uppercase());
            if !is_method || !path.starts_with('/') || path.contains(char::is_whitespace) {
                problems.push(format!(
                    "routes[{index}]: {route:?} is no route, expected a path with or without a method, \
                     as in \"GET /files\" or \"/batches*\""
                ));
            }
        }
        let has_own_key = |upstream: &Upstream| matches!(upstream.key, UpstreamKey::Own(_));
        let open = self.keys.is_empty() && !self.listen.ip().is_loopback();
        if let (true, Some(upstream)) = (open, self.upstreams.iter().find(|one| has_own_key(one))) {
            problems.push(format!(
                "keys: upstream {:?} has a key of its own and {} is no loopback address: everybody \
                 who reaches it could spend that key; expected keys for the gateway's clients",
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
            let is_default = |one: &Upstream| one.models.is_empty();
            let same = |other: &&Upstream| {
                is_default(other) && is_default(upstream) && other.protocol == upstream.protocol
            };
            if let Some(other) = others.iter().find(same) {
                problems.push(format!(
                    "upstreams[{index}].models: missing, and {:?} takes all models of this protocol \
                     already; expected models, or another protocol",
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
        if self.memory.is_some() {
            if cfg!(not(feature = "archive")) {
                let message = "archive: this gateway was built without it, expected a build with \
                               --features archive";
                problems.push(message.to_owned());
            }
            if self.tenant_secret.is_none() {
                let message = "tenant_secret: missing; without it an archive would know nobody \
                               again after a restart";
                problems.push(message.to_owned());
            }
        }
        problems
    }
}

/// Limits of a gateway. Beyond one a request is refused, or cut off, whatever else is configured.
///
/// ```
/// use cupel_gateway::Limits;
///
/// let limits = Limits { body_bytes: 4 << 20, ..Limits::default() };
/// assert_eq!(limits.depth, 128);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The body of a request that is read; others stream through.
    pub body_bytes: usize,
    /// How deep its JSON may be nested.
    pub depth: usize,
    /// How many messages it may have.
    pub messages: usize,
    /// The bodies of all requests that wait for their selection, together.
    pub waiting_bytes: usize,
    /// Connections at one time; more have to wait.
    pub connections: usize,
    /// For a client to send a body that is read.
    pub body_time: Duration,
    /// For gathering and selecting.
    pub selection_time: Duration,
    /// For an upstream to begin its answer.
    pub answer_time: Duration,
    /// Without a byte, in either direction, once one has come.
    pub stall_time: Duration,
    /// For streams to end when the gateway is told to stop.
    pub shutdown_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 32 << 20,
            depth: 128,
            messages: 20_000,
            waiting_bytes: 512 << 20,
            connections: 4_096,
            body_time: Duration::from_secs(60),
            selection_time: Duration::from_secs(10),
            answer_time: Duration::from_secs(600),
            stall_time: Duration::from_secs(300),
            shutdown_time: Duration::from_secs(30),
        }
    }
}

/// The page: who may see it, and how much it remembers.
///
/// ```
/// use cupel_gateway::Page;
///
/// assert!(Page::default().token.is_none());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Page {
    /// What is asked for before anything is shown. Without one there is no page.
    pub token: Option<Secret>,
    /// Where the binary writes a token, for its owner only; unless set, it is shown on a terminal.
    pub token_file: Option<PathBuf>,
    /// How many bytes of recent calls are remembered, about.
    pub bytes: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self { token: None, token_file: None, bytes: 64 << 20 }
    }
}
