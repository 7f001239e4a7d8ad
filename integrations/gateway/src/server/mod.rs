//! The server: connections, how many, how long, and how they end.

mod head;
mod stall;
mod wire;

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
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
use wire::{Patience, Wire};

/// From the first byte of a head to its last.
const HEAD: Duration = Duration::from_secs(10);

/// A connection on which nobody asks is closed.
const IDLE: Duration = Duration::from_secs(120);

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
    let patience = Patience { head: HEAD, read: limits.stall_time, write: limits.stall_time };
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
                TokioIo::new(Wire::new(stream, patience)),
                service_fn(closing(move |request| answer(request, reached))),
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

/// Ends the connection after a request in chunks: nobody but the library has seen where it ended.
fn closing<F>(
    answer: impl Fn(Request<Incoming>) -> F,
) -> impl Fn(Request<Incoming>) -> BoxFuture<'static, Result<Response<Body>, Infallible>>
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    move |request| {
        let chunked = request.headers().contains_key(TRANSFER_ENCODING);
        let answer = answer(request);
        Box::pin(async move {
            let mut response = answer.await;
            if chunked {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(response)
        })
    }
}
