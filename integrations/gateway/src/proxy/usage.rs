//! What an upstream says it counted, read from the end of its answer as it passes.

use bytes::Bytes;
use serde::Deserialize;

/// `usage` stands near the end of an answer, and of the last events of a stream.
const TAIL: usize = 16 * 1024;

/// What an upstream counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Usage {
    /// Tokens of the request.
    pub(crate) input: i64,
    /// Of them, read from its cache.
    pub(crate) cached: i64,
}

/// The last bytes of an answer.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    tail: Vec<u8>,
}

impl Watch {
    pub(crate) fn see(&mut self, piece: &Bytes) {
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
        const FIELD: &[u8] = b"\"usage\":";
        let mut starts = self.tail.windows(FIELD.len()).enumerate().rev();
        // Inside a text the quotation marks are escaped.
        starts.find_map(|(at, field)| {
            let escaped = at.checked_sub(1).and_then(|at| self.tail.get(at)) == Some(&b'\\');
            let value =
                (field == FIELD && !escaped).then(|| self.tail.get(at + FIELD.len()..))??;
            let mut values = serde_json::Deserializer::from_slice(value).into_iter::<Fields>();
            values.next()?.ok()?.usage()
        })
    }
}

#[derive(Deserialize)]
struct Fields {
    #[serde(alias = "input_tokens")]
    prompt_tokens: Option<i64>,
    #[serde(alias = "input_tokens_details")]
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<i64>,
}

impl Fields {
    fn usage(self) -> Option<Usage> {
        let input = self.prompt_tokens.filter(|tokens| *tokens > 0)?;
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
