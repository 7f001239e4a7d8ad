//! A connection from a client: heads are looked at before they are read, and neither side may
//! stand still for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::head::{self, Framing};
use super::stall::Stall;

/// The longest head that is read: request line and headers.
const HEAD_BYTES: usize = 64 * 1024;

/// What the library refuses with the status 400, in place of a head that is not taken.
const NO_REQUEST: &[u8] = b"\0\r\n\r\n";

/// How much a client may still say, and how long, once nobody listens. Were the connection closed at
/// once, the answer that says why would be lost on its way with what was not read.
const LINGER: Duration = Duration::from_secs(5);
const LINGER_BYTES: usize = 32 << 20;

/// How long each direction may stand still.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// From the first byte of a head to its last.
    pub(crate) head: Duration,
    /// Without a byte of a body of a known length. Where one in chunks ends only its reader knows, who has
    /// a clock of their own.
    pub(crate) read: Duration,
    /// Without the client taking a byte.
    pub(crate) write: Duration,
}

#[derive(Debug)]
enum State {
    /// Between two requests, or in the head of one.
    Head,
    /// In a body that has so many bytes more.
    Body(u64),
    /// In a body in chunks: the rest of the connection belongs to it.
    Rest,
    /// Nothing more is read.
    Refused,
}

/// Wraps a socket.
#[derive(Debug)]
pub(crate) struct Wire<I> {
    inner: I,
    state: State,
    /// What came and was not looked at yet: the beginning of a head.
    seen: Vec<u8>,
    /// What was looked at and is to be read.
    out: Vec<u8>,
    /// How much of `out` has been read.
    given: usize,
    head: Stall,
    read: Stall,
    write: Stall,
    linger: Stall,
    /// How much more is thrown away, once our side is closed.
    ignored: Option<usize>,
}

impl<I> Wire<I> {
    pub(crate) fn new(inner: I, patience: Patience) -> Self {
        Self {
            inner,
            state: State::Head,
            seen: Vec::new(),
            out: Vec::new(),
            given: 0,
            head: Stall::new(patience.head),
            read: Stall::new(patience.read),
            write: Stall::new(patience.write),
            linger: Stall::new(LINGER),
            ignored: None,
        }
    }

    /// Looks at what has come; `known`: how much of it has been looked at before.
    fn look(&mut self, mut known: usize) {
        while matches!(self.state, State::Head) {
            // Some clients end a body with an empty line. It is no beginning of a head, for which there
            // would be little time.
            let empty = self.seen.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            self.seen.drain(..empty);
            known = known.saturating_sub(empty);
            if self.seen.is_empty() {
                return;
            }
            let Some(end) = head::end(&self.seen, known) else {
                if self.seen.len() > HEAD_BYTES {
                    self.refuse("a head that is too long");
                }
                return;
            };
            known = 0;
            match head::framing(self.seen.get(..end).unwrap_or_default()) {
                Err(head::Doubtful(why)) => return self.refuse(why),
                Ok(Framing::Chunked) => {
                    self.pass(self.seen.len());
                    self.state = State::Rest;
                }
                Ok(Framing::Length(length)) => {
                    self.pass(end);
                    let here = u64::try_from(self.seen.len()).unwrap_or(u64::MAX).min(length);
                    self.pass(usize::try_from(here).unwrap_or(usize::MAX));
                    if let left @ 1.. = length.saturating_sub(here) {
                        self.state = State::Body(left);
                    }
                }
            }
        }
    }

    /// Gives so many bytes of what was seen to the reader.
    fn pass(&mut self, bytes: usize) {
        let bytes = bytes.min(self.seen.len());
        self.out.extend(self.seen.drain(..bytes));
    }

    fn refuse(&mut self, why: &'static str) {
        tracing::warn!(why, "a request was not taken");
        self.seen = Vec::new();
        self.out.extend_from_slice(NO_REQUEST);
        self.state = State::Refused;
    }

    /// Whether something was given to the reader.
    fn give(&mut self, buf: &mut ReadBuf<'_>) -> bool {
        let rest = self.out.get(self.given..).unwrap_or_default();
        let part = rest.get(..buf.remaining().min(rest.len())).unwrap_or_default();
        buf.put_slice(part);
        self.given += part.len();
        let gave = !part.is_empty();
        if self.given >= self.out.len() {
            self.out.clear();
            self.given = 0;
        }
        gave
    }
}

impl<I: AsyncRead + Unpin> Wire<I> {
    /// Reads more of a head.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut bytes = [0; 8 * 1024];
        let mut part = ReadBuf::new(&mut bytes);
        match Pin::new(&mut self.inner).poll_read(cx, &mut part) {
            Poll::Ready(read) => read?,
            Poll::Pending if self.seen.is_empty() => return Poll::Pending,
            Poll::Pending => return self.head.poll(cx),
        }
        let known = self.seen.len();
        if part.filled().is_empty() {
            // The client has left. What there is of a head would only keep the library from seeing so.
            self.seen = Vec::new();
            self.state = State::Refused;
        } else {
            self.seen.extend_from_slice(part.filled());
            self.look(known);
        }
        if self.seen.is_empty() {
            self.head.stop();
        }
        Poll::Ready(Ok(()))
    }

    /// Reads more of a body.
    fn poll_body(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let left = if let State::Body(left) = self.state { left } else { u64::MAX };
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buf.remaining());
        let mut part = ReadBuf::new(buf.initialize_unfilled_to(most));
        let read = Pin::new(&mut self.inner).poll_read(cx, &mut part);
        if read.is_pending() {
            return match self.state {
                State::Body(_) => self.read.poll(cx),
                _ => Poll::Pending,
            };
        }
        let got = part.filled().len();
        buf.advance(got);
        self.read.stop();
        if let State::Body(left) = &mut self.state {
            *left = left.saturating_sub(u64::try_from(got).unwrap_or(u64::MAX));
            if *left == 0 {
                self.state = State::Head;
            }
        }
        read
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Wire<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        loop {
            if wire.give(buf) {
                return Poll::Ready(Ok(()));
            }
            match wire.state {
                State::Head => ready!(wire.poll_head(cx))?,
                State::Body(_) | State::Rest => return wire.poll_body(cx, buf),
                // As if the client had said no more.
                State::Refused => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl<I: AsyncWrite + Unpin> Wire<I> {
    fn moved<T>(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_pending() {
            return self.write.poll(cx);
        }
        self.write.stop();
        done
    }
}

impl<I: AsyncRead + Unpin> Wire<I> {
    /// Throws away what still comes of a request that was answered before its end.
    fn poll_rest(&mut self, cx: &mut Context<'_>, mut left: usize) -> Poll<()> {
        let mut bytes = [0; 8 * 1024];
        while left > 0 && !matches!(self.state, State::Head) {
            // The clock first: who never stops would never be waited for.
            if self.linger.poll::<()>(cx).is_ready() {
                break;
            }
            let mut part = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.inner).poll_read(cx, &mut part) {
                Poll::Ready(Ok(())) if !part.filled().is_empty() => {
                    left = left.saturating_sub(part.filled().len());
                }
                Poll::Ready(_) => break,
                Poll::Pending => {
                    self.ignored = Some(left);
                    return Poll::Pending;
                }
            }
        }
        self.ignored = Some(0);
        Poll::Ready(())
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Wire<I> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        let done = Pin::new(&mut wire.inner).poll_write(cx, bytes);
        wire.moved(cx, done)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        let done = Pin::new(&mut wire.inner).poll_write_vectored(cx, bytes);
        wire.moved(cx, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        let done = Pin::new(&mut wire.inner).poll_flush(cx);
        wire.moved(cx, done)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        let left = match wire.ignored {
            Some(left) => left,
            None => {
                let done = Pin::new(&mut wire.inner).poll_shutdown(cx);
                ready!(wire.moved(cx, done))?;
                LINGER_BYTES
            }
        };
        ready!(wire.poll_rest(cx, left));
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const PATIENCE: Patience = Patience {
        head: Duration::from_secs(10),
        read: Duration::from_secs(30),
        write: Duration::from_secs(60),
    };

    /// What comes out of a connection into which these pieces go.
    async fn through(pieces: &[&[u8]]) -> Vec<u8> {
        let (mut client, server) = duplex(64);
        let mut wire = Wire::new(server, PATIENCE);
        let write = async move {
            for piece in pieces {
                // Nobody reads on after a refusal.
                drop(client.write_all(piece).await);
            }
            drop(client);
        };
        let read = async move {
            let mut read = Vec::new();
            wire.read_to_end(&mut read).await.unwrap();
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
            let mut wire = Wire::new(server, PATIENCE);
            client.write_all(head).await.unwrap();
            wire.read_exact(&mut vec![0; head.len()]).await.unwrap();
            let ending = tokio::spawn(async move { wire.shutdown().await });
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
        let mut wire = Wire::new(server, PATIENCE);
        let mut bytes = [0; 64];
        // Between requests nothing is waited for here.
        let idle = tokio::time::timeout(Duration::from_secs(1_000), wire.read(&mut bytes)).await;
        assert!(idle.is_err());
        client.write_all(b"POST / HT").await.unwrap();
        assert_eq!(wire.read(&mut bytes).await.unwrap_err().kind(), io::ErrorKind::TimedOut);

        let (mut client, server) = duplex(64);
        let mut wire = Wire::new(server, PATIENCE);
        let head = b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab";
        client.write_all(head).await.unwrap();
        assert_eq!(wire.read(&mut bytes).await.unwrap(), head.len());
        assert_eq!(wire.read(&mut bytes).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        // An empty line behind a body is no head.
        let (mut client, server) = duplex(128);
        let mut wire = Wire::new(server, PATIENCE);
        let whole = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nok";
        client.write_all(&[&whole[..], b"\r\n"].concat()).await.unwrap();
        wire.read_exact(&mut vec![0; whole.len()]).await.unwrap();
        let answered = tokio::time::timeout(Duration::from_secs(1_000), wire.read(&mut bytes));
        assert!(answered.await.is_err());
        client.write_all(b"GET / HT").await.unwrap();
        drop(client);
        assert_eq!(wire.read(&mut bytes).await.unwrap(), 0);

        // Where a body in chunks ends only its reader knows.
        let (mut client, server) = duplex(128);
        let mut wire = Wire::new(server, PATIENCE);
        let head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        client.write_all(head).await.unwrap();
        wire.read_exact(&mut vec![0; head.len()]).await.unwrap();
        let answered = tokio::time::timeout(Duration::from_secs(1_000), wire.read(&mut bytes));
        assert!(answered.await.is_err());

        let (_client, server) = duplex(64);
        let mut wire = Wire::new(server, PATIENCE);
        let error = wire.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
