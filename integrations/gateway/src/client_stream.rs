//! Connections of clients: heads with an ambiguous body length are refused, and neither side may stall.
//!
//! hyper parses heads, but drops a second `Content-Length`, and a `Content-Length` beside a
//! `Transfer-Encoding`, before anybody can see them. A proxy in front of the gateway may have used the other
//! one (request smuggling).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::proxy::Stall;

/// Longest head that is read: request line and headers.
const HEAD_BYTES: usize = 64 * 1024;

/// Timeout of a head, from its first byte; for the first head, from the connection.
const HEAD: Duration = Duration::from_secs(10);

/// Most headers, as in hyper.
const HEADERS: usize = 100;

/// Bytes that hyper refuses with status 400, in place of a refused request.
const NO_REQUEST: &[u8] = b"\0\r\n\r\n";

/// Time and bytes that a client may still send after the answer. If the connection were closed with unread
/// bytes, the client might lose the answer.
const LINGER: Duration = Duration::from_secs(5);
const LINGER_BYTES: usize = 32 << 20;

/// Part of a request that is being read.
#[derive(Debug)]
enum ReadState {
    /// A head, or before one.
    Head,
    /// A body, with the number of bytes that are left.
    Body(u64),
    /// A chunked body. It takes the rest of the connection.
    Chunks,
    /// Nothing: a head was refused.
    Refused,
}

/// Socket of a client, as hyper sees it.
#[derive(Debug)]
pub(crate) struct ClientStream<I> {
    inner: I,
    state: ReadState,
    /// Set until the first byte: a client that connects is expected to ask.
    is_new: bool,
    /// Beginning of a head.
    seen: BytesMut,
    /// Bytes that hyper may read.
    out: BytesMut,
    head: Stall,
    write: Stall,
    linger: Stall,
    /// Bytes that are still ignored after our side is closed.
    ignored: Option<usize>,
}

/// Returns the length of the head at the beginning of `bytes`, and the length of its body; `None` if the body
/// is chunked. Bytes that cannot be parsed are left to hyper, which refuses them.
fn lengths(bytes: &[u8]) -> Result<(usize, Option<u64>), &'static str> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let head = match request.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => return Err("the end of the head is ambiguous"),
        Err(_) => return Ok((bytes.len(), None)),
    };
    let mut lengths = Vec::new();
    let mut encodings = Vec::new();
    for header in request.headers.iter() {
        match header.name {
            name if name.eq_ignore_ascii_case("content-length") => lengths.push(header.value),
            name if name.eq_ignore_ascii_case("transfer-encoding") => encodings.push(header.value),
            _ => {}
        }
    }
    match (lengths.as_slice(), encodings.as_slice()) {
        ([], []) => Ok((head, Some(0))),
        ([length], []) if length.iter().all(u8::is_ascii_digit) => {
            let length = std::str::from_utf8(length).ok().and_then(|length| length.parse().ok());
            Ok((head, Some(length.ok_or("the length is not a number")?)))
        }
        ([], [encoding]) if encoding.eq_ignore_ascii_case(b"chunked") => Ok((bytes.len(), None)),
        _ => Err("the length of the body is ambiguous"),
    }
}

impl<I> ClientStream<I> {
    /// Wraps a socket; `stall` is the time that the client may take no byte of an answer.
    pub(crate) fn new(inner: I, stall: Duration) -> Self {
        Self {
            inner,
            state: ReadState::Head,
            is_new: true,
            seen: BytesMut::new(),
            out: BytesMut::new(),
            head: Stall::new(HEAD),
            write: Stall::new(stall),
            linger: Stall::new(LINGER),
            ignored: None,
        }
    }

    /// Finds heads in `seen`, of which `known` bytes are already checked.
    fn check(&mut self, mut known: usize) {
        while matches!(self.state, ReadState::Head) {
            // Some clients end a body with an empty line. It must not start the timeout of a head.
            let empty = self.seen.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            self.seen.advance(empty);
            let new = self.seen.get(known.saturating_sub(empty + 3)..).unwrap_or_default();
            if !new.windows(3).any(|end| end == b"\n\r\n" || end.ends_with(b"\n\n")) {
                if self.seen.len() > HEAD_BYTES {
                    self.refuse("the head is too long");
                }
                return;
            }
            known = 0;
            match lengths(&self.seen) {
                Err(why) => return self.refuse(why),
                Ok((all, None)) => {
                    self.pass(all);
                    self.state = ReadState::Chunks;
                }
                Ok((head, Some(body))) => {
                    self.pass(head);
                    let here = usize::try_from(body).unwrap_or(usize::MAX).min(self.seen.len());
                    self.pass(here);
                    if let left @ 1.. = body.saturating_sub(u64::try_from(here).unwrap_or(0)) {
                        self.state = ReadState::Body(left);
                    }
                }
            }
        }
    }

    /// Gives bytes to hyper.
    fn pass(&mut self, bytes: usize) {
        self.out.unsplit(self.seen.split_to(bytes.min(self.seen.len())));
    }

    fn refuse(&mut self, why: &'static str) {
        tracing::warn!(why, "request refused");
        self.seen.clear();
        self.out.extend_from_slice(NO_REQUEST);
        self.state = ReadState::Refused;
    }
}

impl<I: AsyncRead + Unpin> ClientStream<I> {
    /// Reads more of a head.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut bytes = [0; 8 * 1024];
        let mut part = ReadBuf::new(&mut bytes);
        match Pin::new(&mut self.inner).poll_read(cx, &mut part) {
            Poll::Ready(read) => read?,
            Poll::Pending if self.seen.is_empty() && !self.is_new => return Poll::Pending,
            Poll::Pending => return self.head.poll(cx),
        }
        self.is_new = false;
        let known = self.seen.len();
        if part.filled().is_empty() {
            // The client closed the connection. hyper would wait for the rest of an incomplete head.
            self.seen.clear();
            self.state = ReadState::Refused;
        } else {
            self.seen.extend_from_slice(part.filled());
            self.check(known);
        }
        if self.seen.is_empty() {
            self.head.stop();
        }
        Poll::Ready(Ok(()))
    }

    /// Reads more of a body.
    fn poll_body(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let ReadState::Body(left) = &mut self.state else {
            return Pin::new(&mut self.inner).poll_read(cx, buf);
        };
        let most = usize::try_from(*left).unwrap_or(usize::MAX).min(buf.remaining());
        let mut part = ReadBuf::new(buf.initialize_unfilled_to(most));
        ready!(Pin::new(&mut self.inner).poll_read(cx, &mut part))?;
        let got = part.filled().len();
        buf.advance(got);
        *left = left.saturating_sub(u64::try_from(got).unwrap_or(u64::MAX));
        if *left == 0 {
            self.state = ReadState::Head;
        }
        Poll::Ready(Ok(()))
    }

    /// Ignores the rest of a request that was answered before its end.
    fn poll_ignored(&mut self, cx: &mut Context<'_>, mut left: usize) -> Poll<()> {
        let mut bytes = [0; 8 * 1024];
        while left > 0 && !matches!(self.state, ReadState::Head) {
            // The clock comes first, because a client may never stop sending.
            if self.linger.poll::<()>(cx).is_ready() {
                break;
            }
            let mut part = ReadBuf::new(&mut bytes);
            let read = Pin::new(&mut self.inner).poll_read(cx, &mut part);
            if read.is_pending() {
                self.ignored = Some(left);
                return Poll::Pending;
            }
            if part.filled().is_empty() {
                break;
            }
            left = left.saturating_sub(part.filled().len());
        }
        self.ignored = Some(0);
        Poll::Ready(())
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for ClientStream<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        loop {
            if !stream.out.is_empty() {
                let part = stream.out.split_to(buf.remaining().min(stream.out.len()));
                buf.put_slice(&part);
                return Poll::Ready(Ok(()));
            }
            match stream.state {
                ReadState::Head => ready!(stream.poll_head(cx))?,
                ReadState::Body(_) | ReadState::Chunks => return stream.poll_body(cx, buf),
                // hyper sees the end of the stream.
                ReadState::Refused => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ClientStream<I> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let stream = self.get_mut();
        let done = Pin::new(&mut stream.inner).poll_write(cx, bytes);
        stream.write.watch(cx, done)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let stream = self.get_mut();
        let done = Pin::new(&mut stream.inner).poll_write_vectored(cx, bytes);
        stream.write.watch(cx, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        let done = Pin::new(&mut stream.inner).poll_flush(cx);
        stream.write.watch(cx, done)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        let left = match stream.ignored {
            Some(left) => left,
            None => {
                let done = Pin::new(&mut stream.inner).poll_shutdown(cx);
                ready!(stream.write.watch(cx, done))?;
                LINGER_BYTES
            }
        };
        ready!(stream.poll_ignored(cx, left));
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const STALL: Duration = Duration::from_secs(60);

    /// Returns the bytes that come out of a connection for these pieces.
    async fn through(pieces: &[&[u8]]) -> Vec<u8> {
        let (mut client, server) = duplex(64);
        let mut stream = ClientStream::new(server, STALL);
        let write = async move {
            for piece in pieces {
                // Nobody reads on after a refusal.
                drop(client.write_all(piece).await);
            }
            drop(client);
        };
        let read = async move {
            let mut read = Vec::new();
            stream.read_to_end(&mut read).await.unwrap();
            read
        };
        tokio::join!(write, read).1
    }

    const GOOD: &[u8] = b"POST /a HTTP/1.1\r\nContent-Length: 21\r\n\r\nContent-Length: 7\r\n\r\nGET /b HTTP/1.1\r\n\r\nPOST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n";

    proptest! {
        #[test]
        fn what_is_taken_passes_byte_for_byte_however_it_is_cut(cuts in proptest::collection::vec(0..GOOD.len(), 0..8)) {
            let mut cuts = cuts;
            cuts.extend([0, GOOD.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &GOOD[pair[0]..pair[1]]).collect();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            prop_assert_eq!(runtime.block_on(through(&pieces)), GOOD);
        }
    }

    fn of(headers: &str) -> Result<Option<u64>, &'static str> {
        lengths(format!("POST / HTTP/1.1\r\nHost: a\r\n{headers}\r\n").as_bytes())
            .map(|(_, body)| body)
    }

    #[test]
    fn one_length_or_one_encoding_is_taken() {
        assert_eq!(of(""), Ok(Some(0)));
        assert_eq!(of("content-length: 12 \r\n"), Ok(Some(12)));
        assert_eq!(of("Transfer-Encoding: Chunked\r\n"), Ok(None));
    }

    #[test]
    fn whatever_leaves_a_doubt_is_refused() {
        for headers in [
            "Content-Length: 5\r\nContent-Length: 5\r\n",
            "Content-Length: 5\r\ncontent-length: 6\r\n",
            "Content-Length: 5, 5\r\n",
            "Content-Length: +5\r\n",
            "Content-Length: 0x5\r\n",
            "Content-Length:\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: identity\r\n",
        ] {
            assert!(of(headers).is_err(), "{headers:?}");
        }
        // Nobody has to look at these: hyper refuses them.
        for headers in [
            "Transfer-Encoding : chunked\r\n",
            "Transfer-Encoding:\r\n chunked\r\n",
            "X: 1\r\n Content-Length: 5\r\n",
            "X: 1\rContent-Length: 5\r\n",
            "no colon\r\n",
            ": 1\r\n",
        ] {
            let head = format!("POST / HTTP/1.1\r\n{headers}\r\n");
            let mut parsed = [httparse::EMPTY_HEADER; HEADERS];
            assert!(httparse::Request::new(&mut parsed).parse(head.as_bytes()).is_err(), "{head}");
        }
    }

    #[tokio::test]
    async fn a_doubtful_head_is_replaced_by_what_nobody_takes() {
        let good = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nok";
        let bad = b"POST / HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nxx";
        let read = through(&[good, bad]).await;
        assert_eq!(read, [&good[..], NO_REQUEST].concat());
        let long = vec![b'a'; HEAD_BYTES + 10_000];
        assert_eq!(through(&[&long]).await, NO_REQUEST);
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_after_the_answer_is_thrown_away_for_a_while() {
        let head = b"POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n";
        for is_patient in [true, false] {
            let (mut client, server) = duplex(64);
            let mut stream = ClientStream::new(server, STALL);
            client.write_all(head).await.unwrap();
            stream.read_exact(&mut vec![0; head.len()]).await.unwrap();
            let ending = tokio::spawn(async move { stream.shutdown().await });
            client.write_all(&[b'x'; 10_000]).await.unwrap();
            if is_patient {
                assert_eq!(client.read(&mut [0; 8]).await.unwrap(), 0);
                assert!(!ending.is_finished());
                drop(client);
            }
            let started = tokio::time::Instant::now();
            ending.await.unwrap().unwrap();
            assert_eq!(started.elapsed() >= LINGER, !is_patient);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_stands_still_is_not_waited_for() {
        let (mut client, server) = duplex(64);
        let mut stream = ClientStream::new(server, STALL);
        let mut bytes = [0; 64];
        // Between requests this does not wait.
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        stream.read_exact(&mut [0; 18]).await.unwrap();
        let idle = tokio::time::timeout(Duration::from_secs(1_000), stream.read(&mut bytes)).await;
        assert!(idle.is_err());
        client.write_all(b"POST / HT").await.unwrap();
        assert_eq!(stream.read(&mut bytes).await.unwrap_err().kind(), io::ErrorKind::TimedOut);

        // Who connects and does not ask is not waited for either.
        let (_client, server) = duplex(64);
        let mut stream = ClientStream::new(server, STALL);
        assert_eq!(stream.read(&mut bytes).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        // An empty line behind a body is no head.
        let (mut client, server) = duplex(128);
        let mut stream = ClientStream::new(server, STALL);
        let whole = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nok";
        client.write_all(&[&whole[..], b"\r\n"].concat()).await.unwrap();
        stream.read_exact(&mut vec![0; whole.len()]).await.unwrap();
        let answered = tokio::time::timeout(Duration::from_secs(1_000), stream.read(&mut bytes));
        assert!(answered.await.is_err());
        client.write_all(b"GET / HT").await.unwrap();
        drop(client);
        assert_eq!(stream.read(&mut bytes).await.unwrap(), 0);

        // Where a body in chunks ends only its reader knows.
        let (mut client, server) = duplex(128);
        let mut stream = ClientStream::new(server, STALL);
        let head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        client.write_all(head).await.unwrap();
        stream.read_exact(&mut vec![0; head.len()]).await.unwrap();
        let answered = tokio::time::timeout(Duration::from_secs(1_000), stream.read(&mut bytes));
        assert!(answered.await.is_err());

        let (_client, server) = duplex(64);
        let mut stream = ClientStream::new(server, STALL);
        let error = stream.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
