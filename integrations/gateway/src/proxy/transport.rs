//! Byte streams to upstreams, below TLS: direct, or through a proxy.

use std::error::Error;
use std::sync::Arc;

use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower::service_fn;
use tower::util::{BoxCloneSyncService, ServiceExt as _};

use super::environment::{Proxies, Proxy, ProxyKind};
use crate::answer::BoxError;

/// Stream to an upstream, or to a proxy, which may speak TLS itself.
pub(super) type TransportStream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Opens streams.
pub(super) type Transport = BoxCloneSyncService<Uri, TransportStream, TransportError>;

/// Failure of a connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum TransportError {
    #[error("the upstream gave no connection")]
    Upstream(#[source] BoxError),
    /// Failure of a proxy, or on the way to it.
    #[error("the proxy gave no connection")]
    Proxy(#[source] BoxError),
}

pub(super) fn transport(
    tcp: HttpConnector,
    tls: &ClientConfig,
    proxies: Arc<Proxies>,
) -> Transport {
    let mut to_proxy = tls.clone();
    to_proxy.alpn_protocols = vec![b"http/1.1".to_vec()];
    let to_proxy = HttpsConnector::from((tcp.clone(), to_proxy));
    BoxCloneSyncService::new(service_fn(move |address: Uri| {
        let (tcp, to_proxy, proxy) = (tcp.clone(), to_proxy.clone(), proxies.proxy(&address));
        async move {
            match proxy {
                None => {
                    let opened = tcp.oneshot(address).await.map(MaybeHttpsStream::Http);
                    opened.map_err(|why| TransportError::Upstream(why.into()))
                }
                Some(proxy) => {
                    let opened = through(proxy, tcp, to_proxy, address).await;
                    opened.map_err(TransportError::Proxy)
                }
            }
        }
    }))
}

/// Connects through a proxy. Plain HTTP is sent to an HTTP proxy as it is, and everything else in a tunnel.
async fn through(
    proxy: Proxy,
    tcp: HttpConnector,
    to_proxy: HttpsConnector<HttpConnector>,
    address: Uri,
) -> Result<TransportStream, BoxError> {
    let is_plain = address.scheme_str() == Some("http");
    match proxy.kind {
        ProxyKind::Http if is_plain => to_proxy.oneshot(proxy.uri).await,
        ProxyKind::Http => {
            let mut tunnel = Tunnel::new(proxy.uri, to_proxy);
            if let Some(basic) = proxy.basic {
                tunnel = tunnel.with_auth(basic);
            }
            tunnel.oneshot(address).await.map_err(boxed)
        }
        ProxyKind::Socks5 => {
            let mut socks = SocksV5::new(proxy.uri, tcp);
            if let Some((user, password)) = proxy.user {
                socks = socks.with_auth(user, password);
            }
            socks.oneshot(address).await.map(MaybeHttpsStream::Http).map_err(boxed)
        }
    }
}

fn boxed(error: impl Error + Send + Sync + 'static) -> BoxError {
    error.into()
}
