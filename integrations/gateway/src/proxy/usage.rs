//! What an upstream says it counted, read from the end of its answer as it passes.

use bytes::Bytes;
use serde::Deserialize;

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

/// The first and the last bytes of an answer.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Watch {
    pub(crate) fn see(&mut self, piece: &Bytes) {
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
    pub(crate) fn usage(&self) -> Option<Usage> {
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
