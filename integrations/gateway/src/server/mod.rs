//! The server: connections, how many, how long, and how they end.

mod wire;

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::answer::Body;
use crate::config::Limits;
use wire::Wire;

/// A connection on which nobody asks is closed.
const IDLE: Duration = Duration::from_secs(120);

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// What a connection may hold in memory, in each direction.
const BUFFER: usize = 128 * 1024;

/// Serves connections until `stop`, and then those that are busy until they are done or the time
/// is over.
pub(crate) async fn run<F>(
    listener: TcpListener,
    limits: &Limits,
    stop: impl Future<Output = ()>,
    stopping: impl FnOnce(),
    answer: impl Fn(Request<Incoming>, Option<SocketAddr>) -> F + Clone + Send + 'static,
) where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    tokio::pin!(stop);
    let room = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    let mut tasks = JoinSet::new();
    loop {
        let next = next(&listener, &room);
        let (permit, stream) = tokio::select! {
            biased;
            () = &mut stop => break,
            next = next => match next {
                Some(next) => next,
                None => continue,
            },
        };
        let reached = stream.local_addr().ok();
        let answer = answer.clone();
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE)
            .max_buf_size(BUFFER)
            .serve_connection(
                TokioIo::new(Wire::new(stream, limits.stall_time)),
                service_fn(move |request: Request<Incoming>| {
                    // Nobody but hyper sees where a request in chunks ends: nothing comes after it.
                    let is_last = request.headers().contains_key(TRANSFER_ENCODING);
                    let answer = answer(request, reached);
                    async move {
                        let mut response = answer.await;
                        if is_last {
                            response.headers_mut().insert(CONNECTION, CLOSE);
                        }
                        Ok::<_, Infallible>(response)
                    }
                }),
            );
        let connection = graceful.watch(connection);
        tasks.spawn(async move {
            let _permit = permit;
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
        });
        while tasks.try_join_next().is_some() {}
    }
    drop(listener);
    stopping();
    let busy = tasks.len();
    tracing::info!(connections = busy, "stopping");
    let done = tokio::time::timeout(limits.shutdown_time, graceful.shutdown()).await.is_ok();
    if !done {
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
            // Out of file descriptors, most likely: others have to end first.
            tracing::warn!(%error, "no connection could be taken");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}
