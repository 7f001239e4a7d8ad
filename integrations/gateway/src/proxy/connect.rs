//! Connections to upstreams: opened in time, and looked at before they are used again.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
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

/// Whether nothing of a request was written before it failed, so that it may be sent again.
pub(super) fn is_unsent(error: &(dyn Error + 'static)) -> bool {
    let is_stale = |error: &io::Error| error.get_ref().is_some_and(|inner| inner.is::<Stale>());
    std::iter::successors(Some(error), |error| (*error).source())
        .any(|error| error.downcast_ref().is_some_and(is_stale))
}

/// A connection that fails before it writes the head of a request, if the other side has closed it.
#[derive(Debug)]
pub(super) struct Checked<T> {
    inner: T,
    /// What was found when a close was looked for.
    found: Vec<u8>,
}

impl<T: Read + Unpin> Checked<T> {
    fn new(inner: T) -> Self {
        Self { inner, found: Vec::new() }
    }

    /// Looks for a close where a head is to be written.
    fn check(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> io::Result<()> {
        if !is_head(bytes) {
            return Ok(());
        }
        let mut bytes = [0; 256];
        let mut found = ReadBuf::new(&mut bytes);
        let read = Pin::new(&mut self.inner).poll_read(cx, found.unfilled());
        match read {
            Poll::Pending => Ok(()),
            Poll::Ready(Ok(())) if !found.filled().is_empty() => {
                self.found.extend_from_slice(found.filled());
                Ok(())
            }
            Poll::Ready(_) => Err(io::Error::new(io::ErrorKind::ConnectionAborted, Stale)),
        }
    }
}

/// Whether a request's first line is the first of these bytes.
fn is_head(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.ends_with(b" HTTP/1.1\r")
}

impl<T: Read + Unpin> Read for Checked<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.found.is_empty() {
            let length = this.found.len().min(buf.remaining());
            buf.put_slice(this.found.drain(..length).as_slice());
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut this.inner).poll_read(cx, buf)
    }
}

impl<T: Read + Write + Unpin> Write for Checked<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check(cx, bytes)?;
        Pin::new(&mut this.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check(cx, bytes.first().map_or(&[], |first| first))?;
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

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const HEAD: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

    async fn write(
        io: &mut Checked<TokioIo<tokio::io::DuplexStream>>,
        bytes: &[u8],
    ) -> io::Result<usize> {
        poll_fn(|cx| Pin::new(&mut *io).poll_write(cx, bytes)).await
    }

    #[tokio::test]
    async fn a_connection_that_was_closed_while_it_was_idle_is_written_nothing() {
        for has_data in [false, true] {
            let (near, mut far) = duplex(1_000);
            let mut near = Checked::new(TokioIo::new(near));
            write(&mut near, HEAD).await.unwrap();
            far.write_all(b"ok").await.unwrap();
            let mut bytes = [0; 2];
            let mut read = ReadBuf::new(&mut bytes);
            poll_fn(|cx| Pin::new(&mut near).poll_read(cx, read.unfilled())).await.unwrap();
            if has_data {
                // What comes unasked is for hyper to judge, and is not lost.
                far.write_all(b"??").await.unwrap();
                write(&mut near, HEAD).await.unwrap();
                let mut bytes = [0; 2];
                let mut read = ReadBuf::new(&mut bytes);
                poll_fn(|cx| Pin::new(&mut near).poll_read(cx, read.unfilled())).await.unwrap();
                assert_eq!(read.filled(), b"??");
                continue;
            }
            write(&mut near, b"more of a body").await.unwrap();
            far.shutdown().await.unwrap();
            write(&mut near, b"more of a body").await.unwrap();
            let error = write(&mut near, HEAD).await.unwrap_err();
            assert!(is_unsent(&error), "{error}");
            drop(near);
            let mut written = Vec::new();
            far.read_to_end(&mut written).await.unwrap();
            assert_eq!(written.len(), HEAD.len() + 28);
        }
    }

    /// An upstream that takes connections and says nothing of TLS.
    #[tokio::test]
    async fn a_handshake_has_the_time_of_a_connection() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut connector = Connector { time: Duration::from_millis(50), ..Connector::new() };
        let uri = format!("https://{}/", silent.local_addr().unwrap()).parse().unwrap();
        let error = connector.call(uri).await.unwrap_err();
        let error = error.downcast::<io::Error>().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
