//! Connections to upstreams: opened in time, and looked at before they are used again.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use tokio::net::TcpStream;
use tower::Service;

use crate::answer::BoxError;

/// To connect, the handshake of TLS included; an answer may take much longer.
const CONNECT: Duration = Duration::from_secs(10);

/// Opens connections, over TLS where the address says so.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    inner: HttpsConnector<HttpConnector>,
    time: Duration,
}

impl Connector {
    pub(super) fn new() -> Self {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let tls = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1();
        Self { inner: tls.wrap_connector(tcp), time: CONNECT }
    }
}

impl Service<Uri> for Connector {
    type Response = Checked<MaybeHttpsStream<TokioIo<TcpStream>>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(self.time, self.inner.call(uri));
        Box::pin(async move {
            let connected =
                connecting.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
            Ok(Checked::new(connected?))
        })
    }
}

/// A connection that the upstream had closed before anything of a request was written to it.
#[derive(Debug)]
struct Stale;

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the upstream had closed an idle connection")
    }
}

impl Error for Stale {}

/// Returns whether nothing of a request was written before it failed, so that it may be sent again.
pub(super) fn is_unsent(error: &(dyn Error + 'static)) -> bool {
    let is_stale =
        |error: &io::Error| error.get_ref().is_some_and(<dyn Error + Send + Sync>::is::<Stale>);
    std::iter::successors(Some(error), |error| (*error).source())
        .any(|error| error.downcast_ref().is_some_and(is_stale))
}

/// A connection that fails before it writes the head of a request, if the other side has closed it.
#[derive(Debug)]
pub(super) struct Checked<T> {
    inner: T,
    /// Set once a head was written to it.
    is_used: bool,
}

/// A connection over TCP.
pub(super) trait Socket {
    fn socket(&self) -> &TcpStream;
}

impl Socket for MaybeHttpsStream<TokioIo<TcpStream>> {
    fn socket(&self) -> &TcpStream {
        match self {
            Self::Http(plain) => plain.inner(),
            Self::Https(tls) => tls.inner().get_ref().0.inner().inner(),
        }
    }
}

impl<T: Socket> Checked<T> {
    fn new(inner: T) -> Self {
        Self { inner, is_used: false }
    }

    /// Looks for a close where a head is to be written. The system is asked: the runtime may not have heard
    /// of it yet.
    fn check(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !is_head(bytes) {
            return Ok(());
        }
        let is_used = std::mem::replace(&mut self.is_used, true);
        match SockRef::from(self.inner.socket()).peek(&mut [MaybeUninit::uninit()]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            // What follows a handshake: nothing else comes unasked, but the end of TLS.
            Ok(1..) if !is_used => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::ConnectionAborted, Stale)),
        }
    }
}

/// Returns whether these bytes begin with the first line of a request.
fn is_head(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.ends_with(b" HTTP/1.1\r")
}

impl<T: Read + Unpin> Read for Checked<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_read(cx, buf)
    }
}

impl<T: Socket + Write + Unpin> Write for Checked<T> {
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

impl<T: Connection> Connection for Checked<T> {
    fn connected(&self) -> Connected {
        self.inner.connected()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    impl Socket for TokioIo<TcpStream> {
        fn socket(&self) -> &TcpStream {
            self.inner()
        }
    }

    const HEAD: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

    async fn write(io: &mut Checked<TokioIo<TcpStream>>, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| Pin::new(&mut *io).poll_write(cx, bytes)).await
    }

    #[tokio::test]
    async fn a_connection_that_was_closed_while_it_was_idle_is_written_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut near = Checked::new(TokioIo::new(TcpStream::connect(address).await.unwrap()));
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
        let mut connector = Connector { time: Duration::from_millis(50), ..Connector::new() };
        let uri = format!("https://{}/", silent.local_addr().unwrap()).parse().unwrap();
        let error = connector.call(uri).await.unwrap_err();
        let error = error.downcast::<io::Error>().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
