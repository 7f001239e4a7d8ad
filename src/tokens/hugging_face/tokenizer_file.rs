//! A counter that reads a model's `tokenizer.json`.

use std::fmt;
use std::path::Path;

use tokenizers::Tokenizer;

use super::{TokenizerError, other_format, read};
use crate::caught::caught;
use crate::tokens::TokenCounter;

/// Largest tokenizer that is read. The largest public ones have 35 MB.
const MOST_BYTES: u64 = 64 << 20;

/// Counts exactly, by a model's `tokenizer.json` as Hugging Face's libraries write it.
///
/// The file is read once and nothing is downloaded. A file that changes later has no effect on a counter
/// that exists. Names of special tokens in a text count as these tokens, as servers read them.
///
/// Counting takes about ten times as long as with [`BpeCounter`](super::super::BpeCounter). Wrap it in a
/// [`CachedCounter`](super::super::CachedCounter), or let [`ModelFiles`](super::ModelFiles) do it.
///
/// ```
/// use cupel::tokens::{TokenCounter, TokenizerFile};
///
/// let json = r#"{"version": "1.0", "added_tokens": [], "normalizer": null, "post_processor": null,
///     "decoder": null, "pre_tokenizer": {"type": "Whitespace"},
///     "model": {"type": "WordLevel", "vocab": {"to": 0, "be": 1, "?": 2}, "unk_token": "?"}}"#;
/// let counter = TokenizerFile::from_json("words", json.as_bytes())?;
/// assert_eq!(counter.count("to be or not to be"), 6);
/// # Ok::<(), cupel::tokens::TokenizerError>(())
/// ```
pub struct TokenizerFile {
    tokenizer: Tokenizer,
    name: String,
}

impl TokenizerFile {
    /// Reads a `tokenizer.json` of at most 64 MiB.
    ///
    /// # Errors
    ///
    /// Returns why the file cannot be read, or is no tokenizer.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TokenizerError> {
        let path = path.as_ref();
        Self::from_json(path.display().to_string(), &read(path, MOST_BYTES)?)
    }

    /// Reads the bytes of a `tokenizer.json`. The name is for reports and errors.
    ///
    /// # Errors
    ///
    /// Returns why the bytes are no tokenizer.
    pub fn from_json(name: impl Into<String>, json: &[u8]) -> Result<Self, TokenizerError> {
        let name = name.into();
        let made = match foreign(json) {
            Some(problem) => Err(problem),
            // What the file says runs through code that may not expect it.
            None => caught(|| Tokenizer::from_bytes(json)).and_then(|made| {
                made.map_err(|error| format!("it is no valid tokenizer.json: {error}"))
            }),
        };
        let mut tokenizer = made.map_err(|problem| TokenizerError::new(&name, problem))?;
        // Such settings are for training: a count needs the whole text, and no more.
        drop(tokenizer.with_padding(None).with_truncation(None));
        let counter = Self { tokenizer, name };
        let problem = match counter.tokens("Is it a tokenizer? 1, 2: it is.") {
            Ok(1..) => return Ok(counter),
            Ok(0) => "it makes no tokens of a text".to_owned(),
            Err(problem) => format!("it cannot count: {problem}"),
        };
        Err(TokenizerError::new(counter.name, problem))
    }

    fn tokens(&self, text: &str) -> Result<usize, String> {
        let encoded = caught(|| self.tokenizer.encode_fast(text, false))?;
        encoded.map(|encoding| encoding.len()).map_err(|error| error.to_string())
    }
}

/// Says what kind of file it is, if it is known to be another one.
fn foreign(bytes: &[u8]) -> Option<String> {
    if let Some(problem) = other_format(bytes) {
        return Some(problem);
    }
    let kind = match bytes {
        [b'\n', ..] if !bytes.trim_ascii_start().starts_with(b"{") => "it is a SentencePiece model",
        _ if bytes.trim_ascii().is_empty() => "it is empty",
        _ if !bytes.trim_ascii_start().starts_with(b"{") => "it is no JSON object",
        _ => return no_model(bytes),
    };
    Some(format!("{kind}, expected the tokenizer.json of the same model"))
}

/// Tells other JSON files of a model from its tokenizer.
fn no_model(bytes: &[u8]) -> Option<String> {
    let read = serde_json::from_slice::<std::collections::BTreeMap<&str, serde::de::IgnoredAny>>;
    let fields = read(bytes).ok().filter(|fields| !fields.contains_key("model"))?;
    let fields: Vec<&str> = fields.keys().take(5).copied().collect();
    Some(format!(
        "it has no `model`, and begins with {}; expected the tokenizer.json of the same model",
        fields.join(", ")
    ))
}

impl TokenCounter for TokenizerFile {
    fn count(&self, text: &str) -> i64 {
        // No tokenizer has more tokens than bytes.
        let tokens = self.tokens(text).unwrap_or(text.len());
        i64::try_from(tokens).unwrap_or(i64::MAX)
    }

    fn nanoseconds_per_byte(&self) -> u64 {
        400
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for TokenizerFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenizerFile").field("name", &self.name).finish_non_exhaustive()
    }
}
