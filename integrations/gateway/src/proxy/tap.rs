//! A body on its way through: untouched, watched, and not waited for without end.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use serde::Deserialize;

use crate::answer::BoxError;
use crate::stall::Stall;

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) how: How,
    pub(crate) bytes: u64,
    pub(crate) usage: Option<Usage>,
    /// All of it, where somebody wants to read it and it is not too long.
    #[cfg_attr(not(feature = "archive"), allow(dead_code))]
    pub(crate) answer: Option<Vec<u8>>,
}

/// The longest answer that is kept to be read.
const KEPT: usize = 4 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// All of it has passed.
    Whole,
    /// The client left.
    ClientLeft,
    /// The upstream broke off.
    Broken,
    /// The upstream fell silent.
    Silent,
}

impl How {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::ClientLeft => "client_left",
            Self::Broken => "broken",
            Self::Silent => "silent",
        }
    }
}

type Tell = Box<dyn FnOnce(Ended) + Send>;

/// Passes a body on, and tells somebody when it is over.
pub(crate) struct Tap {
    inner: Incoming,
    /// Runs while the sender is waited for, and not while the receiver is.
    stall: Stall,
    sender: &'static str,
    /// None for what cannot be read, being compressed.
    watch: Option<Watch>,
    /// What has passed, where somebody wants to read it.
    kept: Option<Vec<u8>>,
    bytes: u64,
    tell: Option<Tell>,
}

impl Tap {
    /// An upstream's answer.
    pub(crate) fn answer(inner: Incoming, stall: Duration, read: bool, tell: Tell) -> Self {
        let mut tap = Self::upload(inner, stall);
        tap.sender = "upstream";
        tap.watch = read.then(Watch::default);
        tap.tell = Some(tell);
        if tap.inner.is_end_stream() {
            tap.end(How::Whole);
        }
        tap
    }

    /// A client's body, which nobody watches.
    pub(crate) fn upload(inner: Incoming, stall: Duration) -> Self {
        let stall = Stall::new(stall);
        Self { inner, stall, sender: "client", watch: None, kept: None, bytes: 0, tell: None }
    }

    /// Keeps what passes for whoever is told of the end, as far as it can be read.
    pub(crate) fn keep(mut self) -> Self {
        self.kept = self.watch.is_some().then(Vec::new);
        self
    }

    fn end(&mut self, how: How) {
        if let Some(tell) = self.tell.take() {
            let usage = self.watch.as_ref().and_then(Watch::usage);
            tell(Ended { how, bytes: self.bytes, usage, answer: self.kept.take() });
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
            tap.end(How::Silent);
            return Poll::Ready(Some(Err(format!("the {} fell silent", tap.sender).into())));
        };
        tap.stall.stop();
        match &next {
            Some(Ok(frame)) => {
                tap.see(frame);
                if tap.inner.is_end_stream() {
                    tap.end(How::Whole);
                }
            }
            Some(Err(_)) => tap.end(How::Broken),
            None => tap.end(How::Whole),
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
        self.end(How::ClientLeft);
    }
}

/// `usage` stands near the end of an answer, and of the last events of a stream.
const TAIL: usize = 16 * 1024;

/// In a stream of Anthropic's it stands in the first event.
const HEAD: usize = 4 * 1024;

/// What an upstream counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Usage {
    /// Tokens of the request.
    pub(crate) input: i64,
    /// Of them, read from its cache.
    pub(crate) cached: i64,
}

/// The first and the last bytes of an answer, where an upstream says what it counted.
#[derive(Debug, Default)]
struct Watch {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Watch {
    fn see(&mut self, piece: &Bytes) {
        let missing = HEAD.saturating_sub(self.head.len()).min(piece.len());
        self.head.extend_from_slice(piece.get(..missing).unwrap_or_default());
        let piece = piece.get(piece.len().saturating_sub(TAIL)..).unwrap_or_default();
        let surplus = (self.tail.len() + piece.len()).saturating_sub(TAIL * 2);
        if surplus > 0 {
            // Twice the tail is kept, so that this happens seldom.
            let from = self.tail.len().saturating_sub(TAIL);
            self.tail.drain(..from);
        }
        self.tail.extend_from_slice(piece);
    }

    /// The last usage that is there.
    fn usage(&self) -> Option<Usage> {
        last_usage(&self.tail).or_else(|| last_usage(&self.head))
    }
}

fn last_usage(bytes: &[u8]) -> Option<Usage> {
    const FIELD: &[u8] = b"\"usage\":";
    let mut starts = bytes.windows(FIELD.len()).enumerate().rev();
    // Inside a text the quotation marks are escaped.
    starts.find_map(|(at, field)| {
        let escaped = at.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b'\\');
        let value = (field == FIELD && !escaped).then(|| bytes.get(at + FIELD.len()..))??;
        let mut values = serde_json::Deserializer::from_slice(value).into_iter::<Fields>();
        values.next()?.ok()?.usage()
    })
}

#[derive(Deserialize)]
struct Fields {
    #[serde(alias = "input_tokens")]
    prompt_tokens: Option<i64>,
    #[serde(alias = "input_tokens_details")]
    prompt_tokens_details: Option<Details>,
    /// Anthropic's, which are not among the input tokens.
    cache_read_input_tokens: Option<i64>,
    cache_creation_input_tokens: Option<i64>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<i64>,
}

impl Fields {
    fn usage(self) -> Option<Usage> {
        let read = self.cache_read_input_tokens.unwrap_or(0).max(0);
        let written = self.cache_creation_input_tokens.unwrap_or(0).max(0);
        let input = self.prompt_tokens?.saturating_add(read).saturating_add(written);
        if input <= 0 {
            return None;
        }
        if read > 0 {
            return Some(Usage { input, cached: read });
        }
        let cached = self.prompt_tokens_details.and_then(|details| details.cached_tokens);
        Some(Usage { input, cached: cached.unwrap_or(0).clamp(0, input) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(pieces: &[&str]) -> Option<Usage> {
        let mut watch = Watch::default();
        for piece in pieces {
            watch.see(&Bytes::copy_from_slice(piece.as_bytes()));
        }
        watch.usage()
    }

    #[test]
    fn it_is_read_from_answers_and_events_of_both_apis() {
        let chat = r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8}}}"#;
        assert_eq!(usage(&[chat]), Some(Usage { input: 12, cached: 8 }));
        let (first, second) = chat.split_at(30);
        assert_eq!(usage(&[first, second]), Some(Usage { input: 12, cached: 8 }));
        let events = [
            "data: {\"usage\":null}\n\n",
            "data: {\"choices\":[],\"usage\": {\"prompt_tokens\": 7}}\n\ndata: [DONE]\n\n",
        ];
        assert_eq!(usage(&events), Some(Usage { input: 7, cached: 0 }));
        let response = r#"event: response.completed
data: {"response":{"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":99}},"metadata":{}}}

"#;
        assert_eq!(usage(&[response]), Some(Usage { input: 9, cached: 9 }));
    }

    #[test]
    fn anthropics_counts_what_is_cached_beside_what_is_not() {
        let whole = r#"{"content":[],"usage":{"input_tokens":7,"cache_read_input_tokens":90,"cache_creation_input_tokens":3,"output_tokens":5}}"#;
        assert_eq!(usage(&[whole]), Some(Usage { input: 100, cached: 90 }));
        let start = r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":7,"output_tokens":1}}}

"#;
        let words = "event: content_block_delta\ndata: {}\n\n".repeat(2_000);
        let end = "event: message_delta\ndata: {\"usage\":{\"output_tokens\":9}}\n\n";
        assert_eq!(usage(&[start, &words, end]), Some(Usage { input: 7, cached: 0 }));
    }

    #[test]
    fn what_a_model_says_is_not_taken_for_it() {
        let said = r#"{"content":"{\"usage\":{\"prompt_tokens\":1}}"}"#;
        assert_eq!(usage(&[said]), None);
        assert_eq!(usage(&["{\"usage\":{\"prompt_tokens\":\"x\"}}", "\"usage\":"]), None);
    }

    #[test]
    fn only_the_end_is_kept() {
        let mut watch = Watch::default();
        for _ in 0..1_000 {
            watch.see(&Bytes::from(vec![b'x'; 1_000]));
        }
        watch.see(&Bytes::from(vec![b'x'; 1_000_000]));
        assert!(watch.tail.len() <= 2 * TAIL, "{}", watch.tail.len());
        watch.see(&Bytes::from_static(b"\"usage\":{\"prompt_tokens\":5}}"));
        assert_eq!(watch.usage().unwrap().input, 5);
    }
}
