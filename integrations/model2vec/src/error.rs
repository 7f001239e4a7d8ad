//! Why a model cannot be used.

use std::io;
use std::path::PathBuf;

/// Error while loading the files of a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file is missing or cannot be read.
    #[error(
        "{}: {source}; expected a folder with tokenizer.json, model.safetensors and config.json",
        path.display()
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{}: {field}: {problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The part of it.
        field: String,
        /// Problem, and the values that are valid.
        problem: String,
    },
}
