//! State that all requests share, and the state with which a reload replaces it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use cupel::gather::{MemorySummaries, SummaryStore};
use http::Response;
use http::header::{CONTENT_ENCODING, CONTENT_SECURITY_POLICY, HeaderValue};
use http_body_util::BodyExt;
use tokio::sync::{Semaphore, watch};

use crate::answer::Body;
use crate::calls::{Call, CallEnd, Calls, ConversationHash};
use crate::config::{Config, GatewayConfigError};
use crate::credentials::{NO_RANDOMNESS, Tenants};
use crate::guard::Hosts;
use crate::key_limits::KeyLimits;
use crate::metrics::GatewayMetrics;
use crate::page::PageLogin;
use crate::proxy::{AnswerEnd, ReadAhead, Tap, UpstreamClient};
use crate::receipts::{self, Receipts};
use crate::repeat_watch::RepeatWatch;
use crate::request_record::RecordSinks;
use crate::select::{BodySelector, PassReason};
use crate::shadow::ShadowPlanner;
use crate::summaries::{OwnCall, SummaryParts};
use crate::upstream_count::UpstreamCounts;

/// State that all requests share.
pub(crate) struct GatewayState {
    pub(crate) config: Config,
    /// Address in the configuration. `config.listen` is the one that the system gave.
    configured_listen: SocketAddr,
    pub(crate) hosts: Hosts,
    pub(crate) client: UpstreamClient,
    pub(crate) selector: Arc<BodySelector>,
    /// Plans requests that are sent unchanged, if there are any.
    pub(crate) shadow: Option<Arc<ShadowPlanner>>,
    pub(crate) counts: UpstreamCounts,
    /// Kibibytes of bodies that may still be read.
    pub(crate) room: Arc<Semaphore>,
    pub(crate) stopping: watch::Sender<bool>,
    #[cfg(feature = "archive")]
    pub(crate) memory: Option<crate::memory::ArchiveMemory>,
    /// Parts of summaries that a reload keeps.
    summaries: SummaryParts,
    pub(crate) calls: Arc<Calls>,
    pub(crate) metrics: Arc<GatewayMetrics>,
    pub(crate) limits: Arc<KeyLimits>,
    pub(crate) repeats: Arc<RepeatWatch>,
    pub(crate) receipts: Arc<Receipts>,
    pub(crate) tenants: Tenants,
    /// Login of the page, if there is a page.
    pub(crate) login: Option<Arc<PageLogin>>,
}

impl GatewayState {
    #[cfg_attr(not(feature = "archive"), allow(unused_mut))]
    pub(crate) fn new(mut config: Config) -> Result<Self, GatewayConfigError> {
        #[cfg(feature = "archive")]
        let memory = config.memory.as_ref().map(crate::memory::ArchiveMemory::new);
        #[cfg(feature = "archive")]
        config.code_sources.extend(memory.as_ref().map(crate::memory::ArchiveMemory::source));
        let mut problems = Vec::new();
        // Without a page nobody could look at them.
        let bytes = config.page.token.as_ref().map_or(0, |_| config.page.bytes);
        let calls = Arc::new(Calls::new(bytes));
        #[cfg(feature = "archive")]
        let store = memory.as_ref().map(crate::memory::ArchiveMemory::summaries);
        #[cfg(not(feature = "archive"))]
        let store = None;
        let summaries = summary_parts(store, &calls);
        let parts = parts(&config, &summaries).map_err(|mut why| problems.append(&mut why));
        let tenants = Tenants::new(config.tenant_secret.as_ref(), config.anonymous_memory);
        if tenants.is_none() {
            problems.push(NO_RANDOMNESS.to_owned());
        }
        let (Ok((client, selector, shadow)), Some(tenants)) = (parts, tenants) else {
            return Err(GatewayConfigError(problems));
        };
        #[cfg(feature = "archive")]
        if let (Some(memory), Some(meaning)) = (&memory, &config.meaning) {
            memory.set_embedder(crate::meaning::archive_embedder(meaning, &client));
        }
        Ok(Self {
            configured_listen: config.listen,
            hosts: Hosts::new(config.listen, &config.hosts),
            counts: UpstreamCounts::new(client.clone()),
            client,
            selector,
            shadow,
            room: room(&config),
            stopping: watch::Sender::new(false),
            #[cfg(feature = "archive")]
            memory,
            summaries,
            calls,
            metrics: Arc::new(GatewayMetrics::new()),
            limits: Arc::default(),
            repeats: Arc::new(RepeatWatch::new()),
            receipts: Arc::new(Receipts::new()),
            tenants,
            login: config.page.token.clone().map(PageLogin::new).map(Arc::new),
            config,
        })
    }

    /// Makes the state for another configuration. It keeps the calls, the archive, the login and the address.
    /// Also returns the changed keys that only a restart applies.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with the configuration.
    fn renewed(&self, mut config: Config) -> Result<(Self, Vec<&'static str>), GatewayConfigError> {
        let old = &self.config;
        let kept: Vec<&'static str> = [
            ("listen", config.listen != self.configured_listen),
            ("archive", config.memory != old.memory),
            // The judge has the new model; the archive keeps its own.
            ("meaning", config.meaning != old.meaning && old.memory.is_some()),
            ("page", config.page.bytes != old.page.bytes),
            ("page", config.page.token_file != old.page.token_file),
            ("metrics", config.metrics_listen != old.metrics_listen),
            ("limits.connections", config.limits.connections != old.limits.connections),
        ]
        .into_iter()
        .filter_map(|(key, is_changed)| is_changed.then_some(key))
        .collect();
        config.listen = old.listen;
        config.memory.clone_from(&old.memory);
        config.page.clone_from(&old.page);
        config.metrics_listen = old.metrics_listen;
        #[cfg(feature = "archive")]
        config.code_sources.extend(self.memory.as_ref().map(crate::memory::ArchiveMemory::source));
        let (client, selector, shadow) =
            parts(&config, &self.summaries).map_err(GatewayConfigError)?;
        let same_room = config.limits.waiting_bytes == old.limits.waiting_bytes;
        let secret = match config.tenant_secret == old.tenant_secret {
            true => None,
            false => config.tenant_secret.as_ref(),
        };
        let state = Self {
            configured_listen: self.configured_listen,
            hosts: Hosts::new(config.listen, &config.hosts),
            counts: UpstreamCounts::new(client.clone()),
            client,
            selector,
            shadow,
            room: if same_room { Arc::clone(&self.room) } else { room(&config) },
            stopping: self.stopping.clone(),
            #[cfg(feature = "archive")]
            memory: self.memory.clone(),
            summaries: self.summaries.clone(),
            calls: Arc::clone(&self.calls),
            metrics: Arc::clone(&self.metrics),
            limits: Arc::clone(&self.limits),
            repeats: Arc::clone(&self.repeats),
            receipts: Arc::clone(&self.receipts),
            tenants: self.tenants.renewed(secret, config.anonymous_memory),
            login: self.login.clone(),
            config,
        };
        Ok((state, kept))
    }

    /// Returns the receivers of the records of requests.
    pub(crate) fn sinks(&self) -> RecordSinks {
        let (metrics, limits) = (Arc::clone(&self.metrics), Arc::clone(&self.limits));
        RecordSinks { metrics, limits, is_logged: self.config.access_log.enabled }
    }

    /// Returns the receivers of plans beside calls.
    pub(crate) fn calls_and_metrics(&self) -> (Arc<Calls>, Arc<GatewayMetrics>) {
        (Arc::clone(&self.calls), Arc::clone(&self.metrics))
    }

    /// Passes an upstream's answer on to the client; `keep`: `on_end` gets all of it.
    pub(crate) fn pass_answer(
        &self,
        mut answer: Response<impl Into<ReadAhead>>,
        keep: bool,
        on_end: impl FnOnce(AnswerEnd) + Send + 'static,
    ) -> Response<Body> {
        let is_plain = !answer.headers().contains_key(CONTENT_ENCODING);
        if self.login.is_some() {
            // A file of the upstream has the page's origin in a browser, and must not act for it.
            let sandbox = HeaderValue::from_static("sandbox");
            answer.headers_mut().append(CONTENT_SECURITY_POLICY, sandbox);
        }
        answer.map(|body| {
            let stall = self.config.limits.stall_time;
            let tap = Tap::answer(body.into(), stall, is_plain, Box::new(on_end));
            if keep { tap.keep().boxed_unsync() } else { tap.boxed_unsync() }
        })
    }
}

/// Parts that a configuration describes.
type ConfiguredParts = (UpstreamClient, Arc<BodySelector>, Option<Arc<ShadowPlanner>>);

/// Makes what a configuration describes: connections to upstreams, and selectors.
fn parts(config: &Config, summaries: &SummaryParts) -> Result<ConfiguredParts, Vec<String>> {
    let mut problems = config.problems();
    let folder = config.receipts.as_ref().map(|receipts| &receipts.folder);
    problems.extend(folder.and_then(receipts::problem));
    let client = UpstreamClient::new(config).map_err(|mut why| problems.append(&mut why));
    let parts = client.and_then(|client| {
        let made = || {
            let selector = BodySelector::new(config, &client, Some(summaries))?;
            let selector = Arc::new(selector);
            Ok((selector, ShadowPlanner::new(config, &client)?))
        };
        let made = made().map_err(|why| problems.push(why));
        made.map(|(selector, shadow)| (client, selector, shadow))
    });
    parts.ok().filter(|_| problems.is_empty()).ok_or(problems)
}

/// Summaries in memory that are kept without an archive.
const SUMMARIES: usize = 10_000;

/// Makes the parts of summaries: where they are kept, and the page that shows the calls for them.
fn summary_parts(store: Option<Arc<dyn SummaryStore>>, calls: &Arc<Calls>) -> SummaryParts {
    let calls = Arc::clone(calls);
    let report = move |call: OwnCall| {
        let OwnCall { model, conversation, status, usage, elapsed } = call;
        let name = conversation.as_deref().unwrap_or_default();
        let hash = ConversationHash::new(&[b"summary", name.as_bytes()]);
        let (input, output) = usage.map_or((0, 0), |usage| (usage.input, usage.output));
        let why = format!("of the gateway's own: {input} tokens read, {output} written");
        let outcome = Err(PassReason { code: "summary", why });
        let reason = if (200..300).contains(&status) { "complete" } else { "failed" };
        let end = CallEnd { status, reason, usage, elapsed };
        calls.own(Call::new("summary", model.to_string(), hash, outcome), end);
    };
    let store = store.unwrap_or_else(|| Arc::new(MemorySummaries::new(SUMMARIES)));
    SummaryParts { store, report: Arc::new(report) }
}

fn room(config: &Config) -> Arc<Semaphore> {
    let kibibytes = config.limits.waiting_bytes / 1024;
    Arc::new(Semaphore::new(kibibytes.min(Semaphore::MAX_PERMITS)))
}

/// State that the next request begins with. A request keeps the state that it began with.
pub(crate) struct CurrentState {
    state: RwLock<Arc<GatewayState>>,
    /// Held while the next state is made from the current one.
    renewing: Mutex<()>,
}

impl CurrentState {
    pub(crate) fn new(state: GatewayState) -> Self {
        Self { state: RwLock::new(Arc::new(state)), renewing: Mutex::new(()) }
    }

    pub(crate) fn get(&self) -> Arc<GatewayState> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the state. As [`GatewayHandle::reload`](crate::GatewayHandle::reload).
    pub(crate) fn renew(&self, config: Config) -> Result<Vec<&'static str>, GatewayConfigError> {
        let _renewing = self.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.get();
        let renewed = old.renewed(config);
        old.metrics.reloaded(renewed.is_ok());
        let (renewed, kept) = renewed?;
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(renewed);
        Ok(kept)
    }

    /// Sets the address that the system gave. Call it before the first request.
    ///
    /// # Errors
    ///
    /// Returns problems of the configuration with this address.
    pub(crate) fn listen_on(&self, listen: SocketAddr) -> Result<(), GatewayConfigError> {
        let _renewing = self.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = Arc::get_mut(&mut state) else {
            return Err(GatewayConfigError(vec!["the gateway serves already".to_owned()]));
        };
        state.config.listen = listen;
        state.hosts = Hosts::new(listen, &state.config.hosts);
        let problems = state.config.problems();
        if problems.is_empty() { Ok(()) } else { Err(GatewayConfigError(problems)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Upstream;
    use crate::credentials::Secret;

    #[test]
    fn without_a_page_no_call_is_kept() {
        for token in [None, Some(Secret::new("token"))] {
            let has_page = token.is_some();
            let mut config = Config::new(Upstream::new("http://127.0.0.1:1").unwrap());
            config.page.token = token;
            let calls = GatewayState::new(config).map_err(|error| error.0).unwrap().calls;
            let conversation = ConversationHash::new(&[]);
            let outcome = Err(PassReason { code: "bypass", why: String::new() });
            calls.begin(Call::new("chat", String::new(), conversation, outcome));
            assert_eq!(calls.newest(10).len(), usize::from(has_page));
        }
    }
}
