//! Bodies that pass through the gateway unchanged: watched for usage, and ended if they stall.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use serde_json::Value;
use tokio::time::{Instant, Sleep, sleep};

use super::ReadAhead;
use crate::answer::BoxError;

/// Clock for one direction of a connection. It runs while nothing moves.
#[derive(Debug)]
pub(crate) struct Stall {
    limit: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    is_running: bool,
}

impl Stall {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, sleep: None, is_running: false }
    }

    /// Resets the clock: something moved, or nothing is expected.
    pub(crate) fn stop(&mut self) {
        self.is_running = false;
    }

    /// Runs the clock. Returns an error after `limit`.
    pub(crate) fn poll<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let limit = self.limit;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep(limit)));
        if !std::mem::replace(&mut self.is_running, true) {
            // `sleep` replaces a time that the clock cannot hold by one far away.
            match Instant::now().checked_add(limit) {
                Some(end) => sleep.as_mut().reset(end),
                None => sleep.set(tokio::time::sleep(limit)),
            }
        }
        ready!(sleep.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Runs the clock while an operation is pending.
    pub(crate) fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        done: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if done.is_pending() {
            return self.poll(cx);
        }
        self.stop();
        done
    }
}

/// End of an upstream's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnswerEnd {
    pub(crate) reason: EndReason,
    pub(crate) bytes: u64,
    pub(crate) usage: Option<Usage>,
    /// The whole answer, if it was asked for and is not too long.
    #[cfg_attr(not(feature = "archive"), allow(dead_code))]
    pub(crate) answer: Option<Vec<u8>>,
}

/// Longest answer that is kept.
const KEPT: usize = 4 << 20;

/// Reason why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    Complete,
    ClientClosed,
    UpstreamError,
    UpstreamTimeout,
}

impl EndReason {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ClientClosed => "client_closed",
            Self::UpstreamError => "upstream_error",
            Self::UpstreamTimeout => "upstream_timeout",
        }
    }
}

type OnEnd = Box<dyn FnOnce(AnswerEnd) + Send>;

/// Passes a body on, and calls a function when it ends.
pub(crate) struct Tap {
    inner: ReadAhead,
    /// Runs while the sender is silent, not while the receiver is slow.
    stall: Stall,
    sender: &'static str,
    /// `None` for a compressed body.
    watch: Option<UsageWatch>,
    /// Bytes that have passed, if they were asked for.
    kept: Option<Vec<u8>>,
    bytes: u64,
    on_end: Option<OnEnd>,
}

impl Tap {
    /// Wraps an upstream's answer; `is_plain`: it is not compressed.
    pub(crate) fn answer(inner: ReadAhead, stall: Duration, is_plain: bool, on_end: OnEnd) -> Self {
        let mut tap = Self::upload(inner, stall);
        tap.sender = "upstream";
        tap.watch = is_plain.then(UsageWatch::default);
        tap.on_end = Some(on_end);
        if tap.inner.is_end_stream() {
            tap.end(EndReason::Complete);
        }
        tap
    }

    /// Wraps a client's body.
    pub(crate) fn upload(inner: impl Into<ReadAhead>, stall: Duration) -> Self {
        let (inner, stall) = (inner.into(), Stall::new(stall));
        Self { inner, stall, sender: "client", watch: None, kept: None, bytes: 0, on_end: None }
    }

    /// Keeps the bytes for [`AnswerEnd::answer`].
    pub(crate) fn keep(mut self) -> Self {
        self.kept = self.watch.is_some().then(Vec::new);
        self
    }

    fn end(&mut self, reason: EndReason) {
        if let Some(on_end) = self.on_end.take() {
            let usage = self.watch.as_ref().and_then(UsageWatch::usage);
            on_end(AnswerEnd { reason, bytes: self.bytes, usage, answer: self.kept.take() });
        }
    }

    fn see(&mut self, frame: &Frame<Bytes>) {
        if let Some(data) = frame.data_ref() {
            self.bytes = self.bytes.saturating_add(u64::try_from(data.len()).unwrap_or(u64::MAX));
            if let Some(watch) = &mut self.watch {
                watch.see(data);
            }
            self.kept.take_if(|kept| kept.len().saturating_add(data.len()) > KEPT);
            if let Some(kept) = &mut self.kept {
                kept.extend_from_slice(data);
            }
        }
    }
}

impl Body for Tap {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let tap = self.get_mut();
        let Poll::Ready(next) = Pin::new(&mut tap.inner).poll_frame(cx) else {
            ready!(tap.stall.poll::<()>(cx)).ok();
            tap.end(EndReason::UpstreamTimeout);
            return Poll::Ready(Some(Err(
                format!("the {} sent nothing for too long", tap.sender).into()
            )));
        };
        tap.stall.stop();
        match &next {
            Some(Ok(frame)) => {
                tap.see(frame);
                if tap.inner.is_end_stream() {
                    tap.end(EndReason::Complete);
                }
            }
            Some(Err(_)) => tap.end(EndReason::UpstreamError),
            None => tap.end(EndReason::Complete),
        }
        Poll::Ready(next.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.end(EndReason::ClientClosed);
    }
}

/// Bytes at the end of an answer in which `usage` is looked for.
const TAIL: usize = 16 * 1024;

/// Bytes at the beginning: Anthropic's streams have it in the first event.
const HEAD: usize = 4 * 1024;

/// Tokens that an upstream counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Usage {
    /// Tokens of the request.
    pub(crate) input: i64,
    /// Part of them that it read from its cache.
    pub(crate) cached: i64,
    /// Part of them that it wrote to its cache, if it says so.
    pub(crate) written: i64,
    /// Tokens of the answer.
    pub(crate) output: i64,
}

/// First and last bytes of an answer, in which the upstream reports its usage.
#[derive(Debug, Default)]
struct UsageWatch {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl UsageWatch {
    fn see(&mut self, piece: &Bytes) {
        let missing = HEAD.saturating_sub(self.head.len()).min(piece.len());
        self.head.extend_from_slice(piece.get(..missing).unwrap_or_default());
        let piece = piece.get(piece.len().saturating_sub(TAIL)..).unwrap_or_default();
        let surplus = (self.tail.len() + piece.len()).saturating_sub(TAIL * 2);
        if surplus > 0 {
            // The buffer may grow to twice the tail, so that it is rarely moved.
            let from = self.tail.len().saturating_sub(TAIL);
            self.tail.drain(..from);
        }
        self.tail.extend_from_slice(piece);
    }

    /// Returns the last usage that was seen.
    fn usage(&self) -> Option<Usage> {
        // Anthropic's streams count the request in the first event and the answer in the last.
        let output = last_object(&self.tail, &|fields| number(fields, OUTPUT)).unwrap_or(0).max(0);
        let usage =
            last_object(&self.tail, &usage_in).or_else(|| last_object(&self.head, &usage_in));
        usage.map(|usage| Usage { output, ..usage })
    }
}

/// Names of the number of tokens of an answer.
const OUTPUT: &[&str] = &["/completion_tokens", "/output_tokens"];

/// Reads the last `usage` that `read` understands.
fn last_object<T>(bytes: &[u8], read: &dyn Fn(&Value) -> Option<T>) -> Option<T> {
    const FIELD: &[u8] = b"\"usage\":";
    let mut starts = bytes.windows(FIELD.len()).enumerate().rev();
    // Inside a string its quotation marks are escaped.
    starts.find_map(|(at, field)| {
        let escaped = at.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b'\\');
        let value = (field == FIELD && !escaped).then(|| bytes.get(at + FIELD.len()..))??;
        let mut values = serde_json::Deserializer::from_slice(value).into_iter::<Value>();
        read(&values.next()?.ok()?)
    })
}

fn number(fields: &Value, names: &[&str]) -> Option<i64> {
    names.iter().find_map(|name| fields.pointer(name)?.as_i64())
}

/// Reads the `usage` of any of the APIs.
fn usage_in(fields: &Value) -> Option<Usage> {
    let number = |names: &[&str]| number(fields, names);
    // Anthropic counts these besides the input tokens.
    let read = number(&["/cache_read_input_tokens"]).unwrap_or(0).max(0);
    let written = number(&["/cache_creation_input_tokens"]).unwrap_or(0).max(0);
    let input = number(&["/prompt_tokens", "/input_tokens"])?;
    let input = input.saturating_add(read).saturating_add(written);
    let details = ["/prompt_tokens_details/cached_tokens", "/input_tokens_details/cached_tokens"];
    let cached = if read > 0 { read } else { number(&details).unwrap_or(0).clamp(0, input.max(0)) };
    (input > 0).then_some(Usage { input, cached, written, output: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(pieces: &[&str]) -> Option<Usage> {
        let mut watch = UsageWatch::default();
        for piece in pieces {
            watch.see(&Bytes::copy_from_slice(piece.as_bytes()));
        }
        watch.usage()
    }

    #[test]
    fn it_is_read_from_answers_and_events_of_both_apis() {
        let chat = r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8}}}"#;
        assert_eq!(usage(&[chat]), Some(Usage { input: 12, cached: 8, written: 0, output: 3 }));
        let (first, second) = chat.split_at(30);
        assert_eq!(
            usage(&[first, second]),
            Some(Usage { input: 12, cached: 8, written: 0, output: 3 })
        );
        let events = [
            "data: {\"usage\":null}\n\n",
            "data: {\"choices\":[],\"usage\": {\"prompt_tokens\": 7}}\n\ndata: [DONE]\n\n",
        ];
        assert_eq!(usage(&events), Some(Usage { input: 7, cached: 0, written: 0, output: 0 }));
        let response = r#"event: response.completed
data: {"response":{"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":99}},"metadata":{}}}

"#;
        assert_eq!(usage(&[response]), Some(Usage { input: 9, cached: 9, written: 0, output: 0 }));
    }

    #[test]
    fn anthropics_counts_what_is_cached_beside_what_is_not() {
        let whole = r#"{"content":[],"usage":{"input_tokens":7,"cache_read_input_tokens":90,"cache_creation_input_tokens":3,"output_tokens":5}}"#;
        assert_eq!(usage(&[whole]), Some(Usage { input: 100, cached: 90, written: 3, output: 5 }));
        let start = r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":7,"output_tokens":1}}}

"#;
        let words = "event: content_block_delta\ndata: {}\n\n".repeat(2_000);
        let end = "event: message_delta\ndata: {\"usage\":{\"output_tokens\":9}}\n\n";
        assert_eq!(
            usage(&[start, &words, end]),
            Some(Usage { input: 7, cached: 0, written: 0, output: 9 })
        );
    }

    #[test]
    fn what_a_model_says_is_not_taken_for_it() {
        let said = r#"{"content":"{\"usage\":{\"prompt_tokens\":1}}"}"#;
        assert_eq!(usage(&[said]), None);
        assert_eq!(usage(&["{\"usage\":{\"prompt_tokens\":\"x\"}}", "\"usage\":"]), None);
    }

    #[test]
    fn only_the_end_is_kept() {
        let mut watch = UsageWatch::default();
        for _ in 0..1_000 {
            watch.see(&Bytes::from(vec![b'x'; 1_000]));
        }
        watch.see(&Bytes::from(vec![b'x'; 1_000_000]));
        assert!(watch.tail.len() <= 2 * TAIL, "{}", watch.tail.len());
        watch.see(&Bytes::from_static(b"\"usage\":{\"prompt_tokens\":5}}"));
        assert_eq!(watch.usage().unwrap().input, 5);
    }
}
