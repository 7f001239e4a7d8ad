//! HTTP server: accepts connections, limits them, and shuts down.

mod client_stream;

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
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
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use crate::answer::{Body, BoxError};
use crate::config::GatewayLimits;
use client_stream::ClientStream;

/// Time after which an idle connection is closed.
const IDLE: Duration = Duration::from_secs(120);

/// Idle connections that are closed if the system refuses a new one, and the pause before the next attempt.
const CLOSED: usize = 16;
const PAUSE: Duration = Duration::from_millis(50);

/// Connections beyond the limit, for health checks only.
const FOR_HEALTH: usize = 64;

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// Buffer of a connection in each direction.
const BUFFER: usize = 128 * 1024;

/// Addresses of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ConnectionEnds {
    /// Address of this server that the client connected to, if it is known.
    pub(crate) reached: Option<SocketAddr>,
    pub(crate) client: Option<IpAddr>,
    /// Set if the connection is beyond the limit, and only for health checks.
    pub(crate) is_for_health: bool,
}

/// Serves connections until `stop` ends. Busy connections then have the shutdown time to finish.
pub(crate) async fn run<F>(
    listener: TcpListener,
    limits: &GatewayLimits,
    stop: impl Future<Output = ()>,
    stopping: impl FnOnce(),
    answer: impl Fn(Request<Incoming>, ConnectionEnds) -> F + Clone + Send + 'static,
) where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    tokio::pin!(stop);
    let most = limits.connections.min(Semaphore::MAX_PERMITS - FOR_HEALTH);
    let room = Arc::new(Semaphore::new(most + FOR_HEALTH));
    let connections = Arc::new(Connections::default());
    let mut tasks = JoinSet::new();
    loop {
        let next = next(&listener, &room);
        let (permit, stream) = tokio::select! {
            biased;
            () = &mut stop => break,
            next = next => match next {
                Some(next) => next,
                // Most likely there are no file descriptors left, which upstreams need, too.
                None => {
                    (0..CLOSED).take_while(|_| connections.close_idle()).for_each(drop);
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            },
        };
        let is_for_health = connections.open().len() >= most && !connections.close_idle();
        let ends = ConnectionEnds {
            reached: stream.local_addr().ok(),
            client: stream.peer_addr().ok().map(|address| address.ip().to_canonical()),
            is_for_health,
        };
        let slot = connections.add();
        let (answer, busy) = (answer.clone(), Arc::clone(&slot));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE)
            .max_buf_size(BUFFER)
            .serve_connection(
                TokioIo::new(ClientStream::new(stream, limits.stall_time)),
                service_fn(move |request: Request<Incoming>| {
                    let busy = busy.busy();
                    // Only hyper sees where a chunked request ends, so no other may follow it.
                    let is_last =
                        is_for_health || request.headers().contains_key(TRANSFER_ENCODING);
                    let answer = answer(request, ends);
                    async move {
                        let mut response = answer.await;
                        if is_last {
                            response.headers_mut().insert(CONNECTION, CLOSE);
                        }
                        let busy = move |error: BoxError| {
                            let _busy = &busy;
                            error
                        };
                        // The connection is busy as long as the body of the answer exists.
                        Ok::<_, Infallible>(response.map(|body| body.map_err(busy).boxed_unsync()))
                    }
                }),
            );
        tasks.spawn(async move {
            let _permit = permit;
            let mut connection = pin!(connection);
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
        });
        while tasks.try_join_next().is_some() {}
    }
    drop(listener);
    stopping();
    tracing::info!(connections = tasks.len(), "stopping");
    connections.open().values().for_each(|slot| slot.close.notify_one());
    let done = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.shutdown_time, done).await.is_err() {
        tracing::warn!("calls were cut off at the end of the shutdown time");
    }
    tasks.shutdown().await;
}

/// Accepts the next connection, once there is room for it.
async fn next(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(tokio::sync::OwnedSemaphorePermit, TcpStream)> {
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Small pieces of a stream are sent at once.
            drop(stream.set_nodelay(true));
            Some((permit, stream))
        }
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection");
            None
        }
    }
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
