//! The gateway as a value: made from a configuration, then served on a listener.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::config::{Config, GatewayConfigError};
use crate::gateway_state::GatewayState;
use crate::guard::Hosts;
use crate::{api, select, server};

/// Longest shutdown time: a clock can hold it.
const YEAR: Duration = Duration::from_secs(365 * 86_400);

/// Time to write the archive after streams took all of the shutdown time.
#[cfg(feature = "archive")]
const ARCHIVE_TIME: Duration = Duration::from_secs(1);

/// Gateway that is ready to serve.
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
    shared: GatewayState,
}

impl Gateway {
    /// Makes a gateway.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with the configuration.
    pub fn new(config: Config) -> Result<Self, GatewayConfigError> {
        Ok(Self { shared: GatewayState::new(config)? })
    }

    /// Opens the archive, if there is one. [`serve`](Self::serve) does it too, and goes on without it
    /// unless it is [required](crate::Memory::required).
    ///
    /// # Errors
    ///
    /// Returns the database's error, without a password; also if the database does not answer within 2 s.
    #[cfg_attr(not(feature = "archive"), allow(clippy::unused_async))]
    pub async fn open_archive(&self) -> Result<(), String> {
        #[cfg(feature = "archive")]
        if let Some(memory) = &self.shared.memory {
            return memory.open().await;
        }
        Ok(())
    }

    /// Checks that the archive can be opened, if there is one. It creates no file.
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

    /// Serves until `stop` ends. Calls in flight then have the configured shutdown time to end.
    ///
    /// # Errors
    ///
    /// Returns an error if the listener has no address, if its address and the configuration would give an
    /// upstream's key to everybody, or if a required archive cannot be opened.
    pub async fn serve(
        mut self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        // The system may have chosen the port, and callers may bind another address.
        let listen = listener.local_addr()?;
        self.shared.config.listen = listen;
        match self.shared.config.problems() {
            problems if problems.is_empty() => {}
            problems => return Err(io::Error::other(GatewayConfigError(problems))),
        }
        self.shared.hosts = Hosts::new(listen, &self.shared.config.hosts);
        #[cfg(feature = "archive")]
        let _opening = match &self.shared.memory {
            Some(memory) => memory.begin().await.map_err(io::Error::other)?,
            None => tokio::task::JoinSet::new(),
        };
        // Otherwise the first call would wait for it.
        drop(tokio::task::spawn_blocking(select::load).await);
        let shared = Arc::new(self.shared);
        let answer = {
            let shared = Arc::clone(&shared);
            move |request, ends| api::answer(Arc::clone(&shared), request, ends)
        };
        let mut deadline = Instant::now();
        let stopping = || {
            shared.stopping.send_replace(true);
            deadline = Instant::now() + shared.config.limits.shutdown_time.min(YEAR);
        };
        server::run(listener, &shared.config.limits, stop, stopping, answer).await;
        #[cfg(feature = "archive")]
        if let Some(memory) = &shared.memory {
            memory.close(deadline.max(Instant::now() + ARCHIVE_TIME)).await;
        }
        Ok(())
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("config", &self.shared.config).finish_non_exhaustive()
    }
}
