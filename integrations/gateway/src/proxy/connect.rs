//! Connections to upstreams: a timeout to open them, a check before reuse, and bodies that can be resent.

use std::error::Error;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http_body::{Body as _, Frame, SizeHint};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use rustls::ClientConfig;
use socket2::SockRef;
use tower::service_fn;
use tower::util::{BoxCloneSyncService, ServiceExt as _};

use super::environment::{Proxies, ProxyKind};
use super::transport::{TransportStream, transport};
use crate::answer::{Body, BoxError};

/// Timeout of a connection, the TLS handshake included.
pub(super) const CONNECT: Duration = Duration::from_secs(10);

/// Opens connections, with TLS for `https`.
pub(super) type Connector = BoxCloneSyncService<Uri, CheckedStream, BoxError>;

/// Makes a connector with a timeout.
pub(super) fn connector(
    timeout: Duration,
    config: Arc<ClientConfig>,
    proxies: Arc<Proxies>,
) -> Connector {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.enforce_http(false);
    // Several addresses share this time, so that one that is silent does not hide the others.
    tcp.set_connect_timeout(Some(timeout / 2));
    let tls = HttpsConnector::from((transport(tcp, &config, Arc::clone(&proxies)), config));
    BoxCloneSyncService::new(service_fn(move |uri: Uri| {
        let proxy = proxies.proxy(&uri).filter(|_| uri.scheme_str() == Some("http"));
        // The request line then has the whole address.
        let is_proxied = proxy.is_some_and(|proxy| proxy.kind == ProxyKind::Http);
        let connecting = tokio::time::timeout(timeout, tls.clone().oneshot(uri));
        async move {
            match connecting.await {
                Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
                Ok(Err(error)) => Err(error),
                Ok(Ok(inner)) => Ok(CheckedStream { inner, is_used: false, is_proxied }),
            }
        }
    }))
}

/// Error of a connection that the upstream had closed before a request was written to it.
#[derive(Debug, thiserror::Error)]
#[error("the upstream closed an idle connection")]
struct StaleConnection;

/// Returns whether a request failed before a byte of it was written. It may then be sent again.
pub(super) fn is_unsent(error: &(dyn Error + 'static)) -> bool {
    let is_stale = |error: &io::Error| {
        error.get_ref().is_some_and(<dyn Error + Send + Sync>::is::<StaleConnection>)
    };
    std::iter::successors(Some(error), |error| (*error).source())
        .any(|error| error.downcast_ref().is_some_and(is_stale))
}

/// Connection that checks, before it writes a request, whether the other side has closed it.
#[derive(Debug)]
pub(super) struct CheckedStream {
    inner: MaybeHttpsStream<TransportStream>,
    /// Set once a request was written.
    is_used: bool,
    /// Set if the other side is a proxy that reads the requests.
    is_proxied: bool,
}

/// Returns what is below TLS.
fn below<T>(stream: &MaybeHttpsStream<T>) -> &T {
    match stream {
        MaybeHttpsStream::Http(plain) => plain,
        MaybeHttpsStream::Https(tls) => tls.inner().get_ref().0.inner(),
    }
}

impl CheckedStream {
    /// Checks for a close before a request head. It asks the system, because the runtime may not know yet.
    fn check(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !is_head(bytes) {
            return Ok(());
        }
        let is_used = std::mem::replace(&mut self.is_used, true);
        let socket = below(below(&self.inner)).inner();
        match SockRef::from(socket).peek(&mut [MaybeUninit::uninit()]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            // Bytes after the TLS handshake. Later, bytes that nobody asked for are the end of TLS.
            Ok(1..) if !is_used => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::ConnectionAborted, StaleConnection)),
        }
    }
}

/// Returns whether bytes begin with a request line.
fn is_head(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.ends_with(b" HTTP/1.1\r")
}

impl Read for CheckedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_read(cx, buf)
    }
}

impl Write for CheckedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check(bytes)?;
        Pin::new(&mut this.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check(bytes.first().map_or(&[], |first| first))?;
        Pin::new(&mut this.inner).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}

impl Connection for CheckedStream {
    fn connected(&self) -> Connected {
        let connected = self.inner.connected();
        if self.is_proxied { connected.proxy(true) } else { connected }
    }
}

/// Bytes of a streamed body that are kept. A closed connection is noticed when the first bytes are written.
const KEPT: usize = 64 * 1024;

/// Body that can be sent again from its beginning by a clone.
#[derive(Clone)]
pub(super) struct Replay {
    source: Arc<Mutex<ReplaySource>>,
    hint: SizeHint,
    /// Pieces of the source that this clone has given.
    given: usize,
}

struct ReplaySource {
    inner: Body,
    /// Pieces taken from `inner`; `None` if they are too large to keep.
    taken: Option<Vec<Bytes>>,
    bytes: usize,
}

impl Replay {
    pub(super) fn new(inner: Body) -> Self {
        let hint = inner.size_hint();
        let source = ReplaySource { inner, taken: Some(Vec::new()), bytes: 0 };
        Self { source: Arc::new(Mutex::new(source)), hint, given: 0 }
    }

    /// Returns whether a clone can still send everything.
    pub(super) fn is_whole(&self) -> bool {
        self.source.lock().unwrap_or_else(PoisonError::into_inner).taken.is_some()
    }
}

impl http_body::Body for Replay {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let mut source = this.source.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(piece) = source.taken.as_ref().and_then(|taken| taken.get(this.given)) {
            this.given += 1;
            return Poll::Ready(Some(Ok(Frame::data(piece.clone()))));
        }
        let next = ready!(Pin::new(&mut source.inner).poll_frame(cx));
        if let Some(Ok(frame)) = &next {
            let length = frame.data_ref().map_or(usize::MAX, Bytes::len);
            source.bytes = source.bytes.saturating_add(length);
            // The first piece costs nothing to keep: it is shared, not copied.
            let is_kept = this.given == 0 || source.bytes <= KEPT;
            source.taken = source.taken.take().filter(|_| is_kept);
            if let (Some(taken), Some(data)) = (&mut source.taken, frame.data_ref()) {
                taken.push(data.clone());
            }
            this.given += 1;
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let has_more = source.taken.as_ref().is_some_and(|taken| taken.len() > self.given);
        !has_more && source.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.given == 0 { self.hint } else { SizeHint::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::super::tls::client_config;
    use super::*;
    use crate::config::UpstreamConnection;

    const HEAD: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

    async fn write(io: &mut CheckedStream, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| Pin::new(&mut *io).poll_write(cx, bytes)).await
    }

    #[tokio::test]
    async fn a_connection_that_was_closed_while_it_was_idle_is_written_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let near = TokioIo::new(TcpStream::connect(address).await.unwrap());
        let inner = MaybeHttpsStream::Http(MaybeHttpsStream::Http(near));
        let mut near = CheckedStream { inner, is_used: false, is_proxied: false };
        let (mut far, _) = listener.accept().await.unwrap();
        write(&mut near, HEAD).await.unwrap();
        write(&mut near, HEAD).await.unwrap();
        far.shutdown().await.unwrap();
        write(&mut near, b"more of a body").await.unwrap();
        let error = write(&mut near, HEAD).await.unwrap_err();
        assert!(is_unsent(&error), "{error}");
        drop(near);
        let mut written = Vec::new();
        far.read_to_end(&mut written).await.unwrap();
        assert_eq!(written.len(), 2 * HEAD.len() + 14);
    }

    /// An upstream that takes connections and says nothing of TLS.
    #[tokio::test]
    async fn a_handshake_has_the_time_of_a_connection() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = client_config(&UpstreamConnection::default()).unwrap();
        let connector = connector(Duration::from_millis(50), config, Arc::new(Proxies::none()));
        let uri = format!("https://{}/", silent.local_addr().unwrap()).parse().unwrap();
        let error = connector.oneshot(uri).await.unwrap_err();
        let error = error.downcast::<io::Error>().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
