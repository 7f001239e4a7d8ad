//! Exact counts for any model: a tokenizer's file and the chat template beside it.

mod chat_template;
mod derive;
mod model_files;
mod render;
mod tokenizer_file;

pub use chat_template::ChatTemplate;
pub use model_files::ModelFiles;
pub use tokenizer_file::TokenizerFile;

use std::io::Read as _;
use std::path::Path;

/// Reports that a tokenizer or a chat template cannot be used.
///
/// ```
/// use cupel::tokens::TokenizerFile;
///
/// let error = TokenizerFile::from_json("m.gguf", b"GGUF\x03").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "m.gguf: it is a GGUF file, expected the tokenizer.json of the same model",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct TokenizerError {
    file: String,
    problem: String,
}

impl TokenizerError {
    fn new(file: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { file: file.into(), problem: problem.into() }
    }
}

/// Reads a regular file of at most so many bytes.
fn read(path: &Path, limit: u64) -> Result<Vec<u8>, TokenizerError> {
    let failed = |problem: String| TokenizerError::new(path.display().to_string(), problem);
    let read = || {
        // Opening a pipe would wait for a writer.
        let metadata = std::fs::metadata(path)?;
        let mut bytes = Vec::new();
        if metadata.is_file() {
            std::fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
        }
        Ok::<_, std::io::Error>((metadata, bytes))
    };
    let (metadata, bytes) = read().map_err(|error| failed(error.to_string()))?;
    if !metadata.is_file() {
        return Err(failed("it is no regular file, expected a tokenizer.json".to_owned()));
    }
    if bytes.len() as u64 > limit {
        // Weights are larger than any tokenizer, so that is said first.
        if let Some(problem) = other_format(&bytes) {
            return Err(failed(problem));
        }
        let size = metadata.len().max(bytes.len() as u64);
        return Err(failed(format!("it has {size} bytes, expected at most {limit}")));
    }
    Ok(bytes)
}

/// Says that a file is of another format, by its first bytes.
fn other_format(bytes: &[u8]) -> Option<String> {
    let kind = match bytes {
        [b'G', b'G', b'U', b'F', ..] => "it is a GGUF file",
        [b'P', b'K', ..] => "it is an archive",
        _ => return None,
    };
    Some(format!("{kind}, expected the tokenizer.json of the same model"))
}
