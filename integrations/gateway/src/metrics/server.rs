//! HTTP server of the metrics, on an address of its own.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HOST, HeaderValue};
use http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::answer::{Body, full, status_of};
use crate::guard::Hosts;

/// Connections at one time.
const CONNECTIONS: usize = 16;

/// Time for a request to arrive, and for all of a connection.
const HEAD: Duration = Duration::from_secs(10);
const CONNECTION: Duration = Duration::from_secs(600);

/// Pause after the system refused a connection.
const PAUSE: Duration = Duration::from_millis(50);

const TYPE: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// Answers `GET /metrics` for ever. `text` writes the metrics. On a loopback address the `Host` must be this
/// server, so that no page in a browser can read them.
pub(crate) async fn serve(
    listener: TcpListener,
    hosts: Vec<String>,
    text: impl Fn() -> String + Send + Sync + 'static,
) {
    let Ok(address) = listener.local_addr() else { return };
    let hosts = address.ip().is_loopback().then(|| Hosts::new(address, &hosts));
    let (hosts, text) = (Arc::new(hosts), Arc::new(text));
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (hosts, text) = (Arc::clone(&hosts), Arc::clone(&text));
        tokio::spawn(async move {
            let _permit = permit;
            drop(tokio::time::timeout(CONNECTION, converse(stream, &hosts, &*text)).await);
        });
    }
}

async fn converse(stream: TcpStream, hosts: &Option<Hosts>, text: &(impl Fn() -> String + Sync)) {
    let service = service_fn(|request: Request<Incoming>| async move {
        Ok::<_, Infallible>(answer(&request, hosts.as_ref(), text))
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD);
    drop(server.serve_connection(TokioIo::new(stream), service).await);
}

fn answer(
    request: &Request<Incoming>,
    hosts: Option<&Hosts>,
    text: &impl Fn() -> String,
) -> Response<Body> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let refused = |status, said: &'static str| {
        let mut response = Response::new(full(said));
        *response.status_mut() = status_of(status);
        response
    };
    if hosts.is_some_and(|hosts| !hosts.allow(host, None)) {
        return refused(421, "the Host header names another server\n");
    }
    if request.method() != Method::GET || request.uri().path() != "/metrics" {
        return refused(404, "expected GET /metrics\n");
    }
    let mut response = Response::new(full(text()));
    response.headers_mut().insert(CONTENT_TYPE, TYPE);
    response
}
