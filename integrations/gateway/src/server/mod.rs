//! The server: connections, how many, how long, and how they end.

mod wire;

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
use crate::config::Limits;
use wire::Wire;

/// A connection on which nobody asks is closed.
const IDLE: Duration = Duration::from_secs(120);

/// Idle connections that are closed when the system has no more to give, and the time until it is asked again.
const CLOSED: usize = 16;
const PAUSE: Duration = Duration::from_millis(50);

/// Connections beyond the limit that are asked for nothing but health.
const FOR_HEALTH: usize = 64;

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// What a connection may hold in memory, in each direction.
const BUFFER: usize = 128 * 1024;

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ends {
    /// The address of ours that the client has connected to, if it is known.
    pub(crate) reached: Option<SocketAddr>,
    pub(crate) client: Option<IpAddr>,
    /// Set where there is no room but for questions of health.
    pub(crate) is_for_health: bool,
}

/// Serves connections until `stop`, and then those that are busy until they are done or the time
/// is over.
pub(crate) async fn run<F>(
    listener: TcpListener,
    limits: &Limits,
    stop: impl Future<Output = ()>,
    stopping: impl FnOnce(),
    answer: impl Fn(Request<Incoming>, Ends) -> F + Clone + Send + 'static,
) where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    tokio::pin!(stop);
    let most = limits.connections.min(Semaphore::MAX_PERMITS - FOR_HEALTH);
    let room = Arc::new(Semaphore::new(most + FOR_HEALTH));
    let slots = Arc::new(Slots::default());
    let mut tasks = JoinSet::new();
    loop {
        let next = next(&listener, &room);
        let (permit, stream) = tokio::select! {
            biased;
            () = &mut stop => break,
            next = next => match next {
                Some(next) => next,
                // Out of file descriptors, most likely. Upstreams need some, too.
                None => {
                    (0..CLOSED).take_while(|_| slots.close_idle()).for_each(drop);
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            },
        };
        let is_for_health = slots.len() >= most && !slots.close_idle();
        let ends = Ends {
            reached: stream.local_addr().ok(),
            client: stream.peer_addr().ok().map(|address| address.ip().to_canonical()),
            is_for_health,
        };
        let slot = slots.add();
        let (answer, busy) = (answer.clone(), Arc::clone(&slot));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE)
            .max_buf_size(BUFFER)
            .serve_connection(
                TokioIo::new(Wire::new(stream, limits.stall_time)),
                service_fn(move |request: Request<Incoming>| {
                    let busy = busy.busy();
                    // Nobody but hyper sees where a request in chunks ends: nothing comes after it.
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
                        // The answer is under way as long as its body is there.
                        Ok::<_, Infallible>(response.map(|body| body.map_err(busy).boxed_unsync()))
                    }
                }),
            );
        tasks.spawn(async move {
            let _permit = permit;
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = slot.closed() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            slot.remove();
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended");
            }
        });
        while tasks.try_join_next().is_some() {}
    }
    drop(listener);
    stopping();
    tracing::info!(connections = tasks.len(), "stopping");
    slots.close_all();
    let done = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.shutdown_time, done).await.is_err() {
        tracing::warn!("not everything was done in time");
    }
    tasks.shutdown().await;
}

/// The next connection, once there is room for it.
async fn next(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(tokio::sync::OwnedSemaphorePermit, TcpStream)> {
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Small pieces of a stream go out as they come.
            drop(stream.set_nodelay(true));
            Some((permit, stream))
        }
        Err(error) => {
            tracing::warn!(%error, "no connection could be taken");
            None
        }
    }
}

/// Stands for a connection on which an answer is under way.
const BUSY: u64 = u64::MAX;

/// All connections. Time is counted in changes: only their order matters.
#[derive(Debug, Default)]
struct Slots {
    open: Mutex<HashMap<u64, Arc<Slot>>>,
    changes: AtomicU64,
}

/// One connection, as the others see it.
#[derive(Debug)]
struct Slot {
    id: u64,
    /// Since when it has been idle, or [`BUSY`].
    idle_since: AtomicU64,
    close: Notify,
    slots: Arc<Slots>,
}

impl Slots {
    /// Adds a connection, which is idle until it asks something.
    fn add(self: &Arc<Self>) -> Arc<Slot> {
        let id = self.changes.fetch_add(1, Ordering::Relaxed);
        let idle_since = AtomicU64::new(id);
        let slot = Slot { id, idle_since, close: Notify::new(), slots: Arc::clone(self) };
        let slot = Arc::new(slot);
        self.open().insert(id, Arc::clone(&slot));
        slot
    }

    fn len(&self) -> usize {
        self.open().len()
    }

    /// Closes the connection that has been idle for longest, if there is one.
    fn close_idle(&self) -> bool {
        let mut open = self.open();
        let idle = open.values().map(|slot| (slot.idle_since.load(Ordering::Relaxed), slot.id));
        let longest = idle.filter(|(since, _)| *since != BUSY).min();
        // It is not counted any more: it only has to hear of it.
        let closed = longest.and_then(|(_, id)| open.remove(&id));
        closed.inspect(|slot| slot.close.notify_one()).is_some()
    }

    /// Closes all connections, each once its answer is over.
    fn close_all(&self) {
        self.open().values().for_each(|slot| slot.close.notify_one());
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Slot>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Until the connection is to be closed.
    async fn closed(&self) {
        self.close.notified().await;
    }

    fn remove(&self) {
        self.slots.open().remove(&self.id);
    }

    /// Marks the connection as busy until what comes back is dropped.
    fn busy(self: &Arc<Self>) -> Busy {
        self.idle_since.store(BUSY, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }
}

/// An answer under way.
#[derive(Debug)]
struct Busy(Arc<Slot>);

impl Drop for Busy {
    fn drop(&mut self) {
        let now = self.0.slots.changes.fetch_add(1, Ordering::Relaxed);
        self.0.idle_since.store(now, Ordering::Relaxed);
    }
}
