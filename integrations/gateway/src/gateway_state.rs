//! State that all requests share.

use std::sync::Arc;

use http::Response;
use http::header::{CONTENT_ENCODING, CONTENT_SECURITY_POLICY, HeaderValue};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::{Semaphore, watch};

use crate::answer::Body;
use crate::calls::Calls;
use crate::config::{Config, GatewayConfigError};
use crate::credentials::{NO_RANDOMNESS, Tenants};
use crate::guard::Hosts;
use crate::page::PageLogin;
use crate::proxy::{AnswerEnd, Tap, UpstreamClient};
use crate::select::BodySelector;

/// State that all requests share.
pub(crate) struct GatewayState {
    pub(crate) config: Config,
    pub(crate) hosts: Hosts,
    pub(crate) client: UpstreamClient,
    pub(crate) selector: BodySelector,
    /// Kibibytes of bodies that may still be read.
    pub(crate) room: Arc<Semaphore>,
    pub(crate) stopping: watch::Sender<bool>,
    #[cfg(feature = "archive")]
    pub(crate) memory: Option<crate::memory::ArchiveMemory>,
    pub(crate) calls: Calls,
    pub(crate) tenants: Tenants,
    /// Login of the page, if there is a page.
    pub(crate) login: Option<PageLogin>,
}

impl GatewayState {
    #[cfg_attr(not(feature = "archive"), allow(unused_mut))]
    pub(crate) fn new(mut config: Config) -> Result<Self, GatewayConfigError> {
        #[cfg(feature = "archive")]
        let memory = config.memory.as_ref().map(crate::memory::ArchiveMemory::new);
        #[cfg(feature = "archive")]
        config.code_sources.extend(memory.as_ref().map(crate::memory::ArchiveMemory::source));
        let mut problems = config.problems();
        let client = UpstreamClient::new(config.limits.answer_time, &config.keys);
        let selector = BodySelector::new(&config, &client).map_err(|why| problems.push(why));
        let tenants = Tenants::new(config.tenant_secret.as_ref(), config.anonymous_memory);
        if tenants.is_none() {
            problems.push(NO_RANDOMNESS.to_owned());
        }
        let (Ok(selector), Some(tenants), []) = (selector, tenants, problems.as_slice()) else {
            return Err(GatewayConfigError(problems));
        };
        let room = (config.limits.waiting_bytes / 1024).min(Semaphore::MAX_PERMITS);
        Ok(Self {
            hosts: Hosts::new(config.listen, &config.hosts),
            client,
            selector,
            room: Arc::new(Semaphore::new(room)),
            stopping: watch::Sender::new(false),
            #[cfg(feature = "archive")]
            memory,
            // Without a page nobody could look at them.
            calls: Calls::new(config.page.token.as_ref().map_or(0, |_| config.page.bytes)),
            tenants,
            login: config.page.token.clone().map(PageLogin::new),
            config,
        })
    }

    /// Passes an upstream's answer on to the client; `keep`: `on_end` gets all of it.
    pub(crate) fn pass_answer(
        &self,
        mut answer: Response<Incoming>,
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
            let tap = Tap::answer(body, stall, is_plain, Box::new(on_end));
            if keep { tap.keep().boxed_unsync() } else { tap.boxed_unsync() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{Call, ConversationHash};
    use crate::config::Upstream;
    use crate::credentials::Secret;
    use crate::select::PassReason;

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
