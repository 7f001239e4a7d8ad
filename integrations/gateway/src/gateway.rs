//! The gateway: made from a configuration, it accepts connections until it is stopped.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING};
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::answer::{Body, BoxError};
use crate::client_stream::ClientStream;
use crate::config::{Config, GatewayConfigError};
use crate::gateway_state::{CurrentState, GatewayState};
use crate::guard::ConnectionEnds;
use crate::metrics::{self, MetricsNow};
use crate::{api, select};

/// Longest shutdown time: a clock can hold it.
const YEAR: Duration = Duration::from_secs(365 * 86_400);

/// Time to write the archive after streams took all of the shutdown time.
#[cfg(feature = "archive")]
const ARCHIVE_TIME: Duration = Duration::from_secs(1);

/// Time after which an idle connection is closed.
const IDLE: Duration = Duration::from_secs(120);

/// Idle connections that are closed if the system refuses a new one, and the pause before the next attempt.
const CLOSED: usize = 16;
const PAUSE: Duration = Duration::from_millis(50);

/// Connections beyond the limit, for health checks only.
const FOR_HEALTH: usize = 64;

/// Buffer of a connection in each direction.
const BUFFER: usize = 128 * 1024;

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
    current: Arc<CurrentState>,
}

impl Gateway {
    /// Makes a gateway.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with the configuration.
    pub fn new(config: Config) -> Result<Self, GatewayConfigError> {
        let state = GatewayState::new(config)?;
        Ok(Self { current: Arc::new(CurrentState::new(state)) })
    }

    /// Returns a handle that replaces the configuration while the gateway serves.
    pub fn handle(&self) -> GatewayHandle {
        GatewayHandle { current: Arc::clone(&self.current) }
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
        if let Some(memory) = &self.current.get().memory {
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
        if let Some(memory) = &self.current.get().memory {
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
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        // The system may have chosen the port, and callers may bind another address.
        let listen = listener.local_addr()?;
        self.current.listen_on(listen).map_err(io::Error::other)?;
        #[cfg(feature = "archive")]
        let _opening = match &self.current.get().memory {
            Some(memory) => memory.begin().await.map_err(io::Error::other)?,
            None => JoinSet::new(),
        };
        // Otherwise the first call would wait for it.
        select::load().await;
        let connections = Arc::new(Connections::default());
        let _metrics = self.serve_metrics(&connections).await?;
        let mut tasks = JoinSet::new();
        tokio::select! {
            biased;
            () = stop => {}
            () = accept(&listener, &self.current, &connections, &mut tasks) => {}
        }
        drop(listener);
        let state = self.current.get();
        state.stopping.send_replace(true);
        tracing::info!(connections = tasks.len(), "stopping");
        connections.open().values().for_each(|slot| slot.close.notify_one());
        let deadline = Instant::now() + state.config.limits.shutdown_time.min(YEAR);
        let done = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout_at(deadline, done).await.is_err() {
            tracing::warn!("calls were cut off at the end of the shutdown time");
        }
        tasks.shutdown().await;
        #[cfg(feature = "archive")]
        if let Some(memory) = &state.memory {
            memory.close(deadline.max(Instant::now() + ARCHIVE_TIME)).await;
        }
        Ok(())
    }
}

impl Gateway {
    /// Begins to serve the metrics, if they have an address. It ends when the returned tasks are dropped.
    async fn serve_metrics(&self, connections: &Arc<Connections>) -> io::Result<JoinSet<()>> {
        let mut tasks = JoinSet::new();
        let state = self.current.get();
        let Some(listen) = state.config.metrics_listen else { return Ok(tasks) };
        let failed = |error| io::Error::other(format!("metrics.listen: {listen}: {error}"));
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        tracing::info!(address = %listener.local_addr()?, "serving metrics");
        let (current, connections) = (Arc::clone(&self.current), Arc::clone(connections));
        let text = move || {
            let state = current.get();
            let (connections, streams) = connections.numbers();
            #[cfg(feature = "archive")]
            let archive = state.memory.as_ref().map(crate::memory::ArchiveMemory::numbers);
            #[cfg(not(feature = "archive"))]
            let archive = None;
            state.metrics.text(&MetricsNow { connections, streams, archive })
        };
        tasks.spawn(metrics::serve(listener, state.config.hosts.clone(), text));
        Ok(tasks)
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("config", &self.current.get().config)
            .finish_non_exhaustive()
    }
}

/// Handle of a gateway, which replaces its configuration while it serves.
///
/// ```no_run
/// use cupel_gateway::{Config, Gateway, Upstream};
///
/// # fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let gateway = Gateway::new(Config::new(Upstream::new("https://api.openai.com/v1")?))?;
/// let handle = gateway.handle();
/// // Later, while `gateway.serve` runs:
/// let needs_restart = handle.reload(Config::from_file("gateway.toml")?)?;
/// # let _ = needs_restart;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct GatewayHandle {
    current: Arc<CurrentState>,
}

impl GatewayHandle {
    /// Replaces the configuration. Requests in flight, streams included, end under the old one.
    ///
    /// Returns the changed keys that only a restart applies, such as `listen`. It reads the files that the
    /// configuration names and builds its policies, so call it on a thread that may block.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with the configuration. The old one then stays in use.
    pub fn reload(&self, config: Config) -> Result<Vec<&'static str>, GatewayConfigError> {
        self.current.renew(config)
    }
}

impl fmt::Debug for GatewayHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayHandle").finish_non_exhaustive()
    }
}

/// Accepts connections for ever.
async fn accept(
    listener: &TcpListener,
    current: &Arc<CurrentState>,
    connections: &Arc<Connections>,
    tasks: &mut JoinSet<()>,
) {
    let most = current.get().config.limits.connections.min(Semaphore::MAX_PERMITS - FOR_HEALTH);
    let room = Arc::new(Semaphore::new(most + FOR_HEALTH));
    while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let open = connections.open().len();
                let is_for_health = open >= most && !connections.close_idle();
                let slot = connections.add();
                let current = Arc::clone(current);
                tasks.spawn(converse(current, stream, slot, permit, is_for_health));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                // Most likely there are no file descriptors left, which upstreams need, too.
                (0..CLOSED).take_while(|_| connections.close_idle()).for_each(drop);
                tokio::time::sleep(PAUSE).await;
            }
        }
        while tasks.try_join_next().is_some() {}
    }
}

/// Serves a connection until one side closes it.
async fn converse(
    current: Arc<CurrentState>,
    stream: TcpStream,
    slot: Arc<ConnectionSlot>,
    _permit: OwnedSemaphorePermit,
    is_for_health: bool,
) {
    // Small pieces of a stream are sent at once.
    drop(stream.set_nodelay(true));
    let ends = ConnectionEnds {
        reached: stream.local_addr().ok(),
        client: stream.peer_addr().ok().map(|address| address.ip().to_canonical()),
        is_for_health,
    };
    let stream = ClientStream::new(stream, current.get().config.limits.stall_time);
    let service = service_fn(|request| answer(current.get(), request, ends, slot.busy()));
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(stream), service)
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = slot.close.notified() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    slot.connections.open().remove(&slot.id);
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}

async fn answer(
    state: Arc<GatewayState>,
    request: Request<Incoming>,
    ends: ConnectionEnds,
    busy: BusyGuard,
) -> Result<Response<Body>, Infallible> {
    // Only hyper sees where a chunked request ends, so no other may follow it.
    let is_last = ends.is_for_health || request.headers().contains_key(TRANSFER_ENCODING);
    let mut response = api::answer(state, request, ends).await;
    if is_last {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    // The connection is busy as long as the body of the answer exists.
    let busy = move |error: BoxError| {
        let _busy = &busy;
        error
    };
    Ok(response.map(|body| body.map_err(busy).boxed_unsync()))
}

/// Value of `idle_since` while an answer is sent.
const BUSY: u64 = u64::MAX;

/// Open connections. The clock counts changes, because only their order matters.
#[derive(Debug, Default)]
struct Connections {
    open: Mutex<HashMap<u64, Arc<ConnectionSlot>>>,
    changes: AtomicU64,
}

/// State of one connection.
#[derive(Debug)]
struct ConnectionSlot {
    id: u64,
    /// Clock value since which it is idle, or [`BUSY`].
    idle_since: AtomicU64,
    close: Notify,
    connections: Arc<Connections>,
}

impl Connections {
    /// Adds a connection, which is idle until its first request.
    fn add(self: &Arc<Self>) -> Arc<ConnectionSlot> {
        let id = self.changes.fetch_add(1, Ordering::Relaxed);
        let idle_since = AtomicU64::new(id);
        let connections = Arc::clone(self);
        let slot = Arc::new(ConnectionSlot { id, idle_since, close: Notify::new(), connections });
        self.open().insert(id, Arc::clone(&slot));
        slot
    }

    /// Closes the connection that has been idle for the longest time, if there is one.
    fn close_idle(&self) -> bool {
        let mut open = self.open();
        let idle = open.values().map(|slot| (slot.idle_since.load(Ordering::Relaxed), slot.id));
        let longest = idle.filter(|(since, _)| *since != BUSY).min();
        // It no longer counts, even before it is closed.
        let closed = longest.and_then(|(_, id)| open.remove(&id));
        closed.inspect(|slot| slot.close.notify_one()).is_some()
    }

    /// Returns the number of open connections, and of those whose request is being answered.
    fn numbers(&self) -> (usize, usize) {
        let open = self.open();
        let busy = open.values().filter(|slot| slot.idle_since.load(Ordering::Relaxed) == BUSY);
        (open.len(), busy.count())
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<ConnectionSlot>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionSlot {
    /// Marks the connection as busy until the guard is dropped.
    fn busy(self: &Arc<Self>) -> BusyGuard {
        self.idle_since.store(BUSY, Ordering::Relaxed);
        BusyGuard(Arc::clone(self))
    }
}

#[derive(Debug)]
struct BusyGuard(Arc<ConnectionSlot>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        let now = self.0.connections.changes.fetch_add(1, Ordering::Relaxed);
        self.0.idle_since.store(now, Ordering::Relaxed);
    }
}
