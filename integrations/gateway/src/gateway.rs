//! The gateway: what it is made of, and how it is run.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::calls::Calls;
use crate::config::Config;
use crate::guard::Hosts;
use crate::page::Door;
use crate::proxy::Client;
use crate::select::Selector;
use crate::tenant::Tenants;
use crate::{api, select, server};

/// As good as no limit, and no clock ends before it.
const YEAR: std::time::Duration = std::time::Duration::from_secs(365 * 86_400);

/// Time at least to write the archive, when streams took all of the time for a shutdown.
#[cfg(feature = "archive")]
const LAST: std::time::Duration = std::time::Duration::from_secs(1);

/// A gateway that is ready to serve.
///
/// ```no_run
/// use cupel_gateway::{Config, Gateway, Upstream};
/// use tokio::net::TcpListener;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let config = Config::new(Upstream::new("https://api.openai.com/v1")?);
/// let listener = TcpListener::bind(config.listen).await?;
/// let gateway = Gateway::new(config)?;
/// gateway.serve(listener, std::future::pending()).await?;
/// # Ok(())
/// # }
/// ```
pub struct Gateway {
    shared: Shared,
}

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) hosts: Hosts,
    pub(crate) client: Client,
    pub(crate) selector: Selector,
    /// Kibibytes of bodies that may still be read.
    pub(crate) room: Arc<Semaphore>,
    pub(crate) stopping: watch::Sender<bool>,
    #[cfg(feature = "archive")]
    pub(crate) memory: Option<crate::memory::Memory>,
    pub(crate) calls: Calls,
    pub(crate) tenants: Tenants,
    /// The door to the page, if there is one.
    pub(crate) door: Option<Door>,
}

/// Why a configuration cannot be used: everything that is wrong with it, line by line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable(pub Vec<String>);

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Unusable {}

impl Gateway {
    /// A gateway as configured.
    ///
    /// # Errors
    ///
    /// Everything that makes the configuration unusable.
    pub fn new(config: Config) -> Result<Self, Unusable> {
        #[cfg(feature = "archive")]
        let (config, memory) = with_memory(config);
        let mut problems = config.problems();
        let client = Client::new(config.limits.answer_time, &config.keys);
        let selector = Selector::new(&config, &client).map_err(|why| problems.push(why));
        let tenants = Tenants::new(config.tenant_secret.as_ref(), config.anonymous_memory);
        if tenants.is_none() {
            problems.push("the system has no randomness to give".to_owned());
        }
        let (Ok(selector), Some(tenants), []) = (selector, tenants, problems.as_slice()) else {
            return Err(Unusable(problems));
        };
        let shared = Shared {
            hosts: Hosts::new(config.listen, &config.hosts),
            client,
            selector,
            room: Arc::new(Semaphore::new(
                (config.limits.waiting_bytes / 1024).min(Semaphore::MAX_PERMITS),
            )),
            stopping: watch::Sender::new(false),
            #[cfg(feature = "archive")]
            memory,
            // Nobody could look at what is kept.
            calls: Calls::new(config.page.token.as_ref().map_or(0, |_| config.page.bytes)),
            tenants,
            door: config.page.token.clone().map(Door::new),
            config,
        };
        Ok(Self { shared })
    }

    /// Opens the archive, if there is one. [`serve`](Self::serve) does so, too, and goes on without it
    /// unless it is [required](crate::Memory::required).
    ///
    /// # Errors
    ///
    /// The database's error, never with a password in it; and a database that does not answer in two seconds.
    #[cfg_attr(not(feature = "archive"), allow(clippy::unused_async))]
    pub async fn open_archive(&self) -> Result<(), String> {
        #[cfg(feature = "archive")]
        if let Some(memory) = &self.shared.memory {
            return memory.open().await;
        }
        Ok(())
    }

    /// Checks that the archive can be opened, if there is one, and makes no file.
    ///
    /// # Errors
    ///
    /// As [`open_archive`](Self::open_archive).
    #[cfg_attr(not(feature = "archive"), allow(clippy::unused_async))]
    pub async fn check_archive(&self) -> Result<(), String> {
        #[cfg(feature = "archive")]
        if let Some(memory) = &self.shared.memory {
            return memory.check().await;
        }
        Ok(())
    }

    /// Serves until `stop`, and then what is under way until it is done or its time is over.
    ///
    /// # Errors
    ///
    /// When the listener has no address, or one on which the configuration would give a key away; and
    /// when the archive is required and cannot be opened.
    pub async fn serve(
        mut self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        // The port may have been left to the system, and nobody has to bind what they configured.
        let listen = listener.local_addr()?;
        self.shared.config.listen = listen;
        match self.shared.config.problems() {
            problems if problems.is_empty() => {}
            problems => return Err(io::Error::other(Unusable(problems))),
        }
        self.shared.hosts = Hosts::new(listen, &self.shared.config.hosts);
        #[cfg(feature = "archive")]
        let _opening = match &self.shared.memory {
            Some(memory) => memory.begin().await.map_err(io::Error::other)?,
            None => tokio::task::JoinSet::new(),
        };
        // The first call would have to wait for it, within the time for its selection.
        drop(tokio::task::spawn_blocking(select::load).await);
        let shared = Arc::new(self.shared);
        let answer = {
            let shared = Arc::clone(&shared);
            move |request, ends| api::answer(Arc::clone(&shared), request, ends)
        };
        let mut deadline = tokio::time::Instant::now();
        let stopping = || {
            shared.stopping.send_replace(true);
            deadline = tokio::time::Instant::now() + shared.config.limits.shutdown_time.min(YEAR);
        };
        server::run(listener, &shared.config.limits, stop, stopping, answer).await;
        #[cfg(feature = "archive")]
        if let Some(memory) = &shared.memory {
            // Streams may have taken all of the time.
            memory.close(deadline.max(tokio::time::Instant::now() + LAST)).await;
        }
        Ok(())
    }
}

/// Adds the archive as a source.
#[cfg(feature = "archive")]
fn with_memory(mut config: Config) -> (Config, Option<crate::memory::Memory>) {
    let memory = config.memory.as_ref().map(crate::memory::Memory::new);
    config.code_sources.extend(memory.as_ref().map(crate::memory::Memory::source));
    (config, memory)
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{Call, Conversation};
    use crate::config::Upstream;
    use crate::secret::Secret;

    #[test]
    fn without_a_page_no_call_is_kept() {
        for token in [None, Some(Secret::new("token"))] {
            let has_page = token.is_some();
            let mut config = Config::new(Upstream::new("http://127.0.0.1:1").unwrap());
            config.page.token = token;
            let calls = Gateway::new(config).unwrap().shared.calls;
            let conversation = Conversation::new(&[]);
            calls.begin(Call::new(
                "chat",
                String::new(),
                conversation,
                Err(("bypass", String::new())),
            ));
            assert_eq!(calls.newest(10).len(), usize::from(has_page));
        }
    }
}
