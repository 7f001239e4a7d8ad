//! Errors between a file, a spec and a policy.

use std::path::PathBuf;

use crate::error::{ConfigProblem, Listed};

/// Why a spec could not be read, or not be turned into a policy or back.
///
/// ```
/// use cupel::policy::spec::{PlacerSpec, ScorerSpec, SlicerSpec};
/// use cupel::{PolicySpec, PolicySpecError};
///
/// let slicer = SlicerSpec::Knapsack { bucket_size: 0, widen_buckets: false };
/// let spec = PolicySpec::new(ScorerSpec::Recency, slicer, PlacerSpec::UShaped);
/// let error: PolicySpecError = spec.validate().unwrap_err();
/// assert_eq!(error.to_string(), "slicer.bucket_size: must be at least 1, got 0");
/// assert_eq!(error.problems()[0].path, "slicer.bucket_size");
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicySpecError {
    /// The spec says something it cannot mean. Every problem is listed, each with its path.
    #[error("{}", Listed(.0))]
    Invalid(Vec<ConfigProblem>),

    /// The text is not what its format allows.
    #[error("not valid {format}: {message}")]
    Syntax {
        /// JSON, TOML or YAML.
        format: &'static str,
        /// Message of the parser, with line and column if it knows them.
        message: String,
    },

    /// The spec cannot be written in this format.
    #[error("cannot be written as {format}: {message}")]
    Unwritable {
        /// JSON, TOML or YAML.
        format: &'static str,
        /// Message of the writer.
        message: String,
    },

    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),

    /// The file's name does not say which format it has.
    #[error("{}, expected json, toml, yaml or yml", name_of(.extension.as_deref()))]
    UnknownFormat {
        /// The extension, if there is one.
        extension: Option<String>,
    },

    /// Something is wrong with a file.
    #[error("{}: {error}", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Error of the file.
        error: Box<PolicySpecError>,
    },
}

impl PolicySpecError {
    /// The problems with the content, with their paths; none when it never got that far.
    #[must_use]
    pub fn problems(&self) -> &[ConfigProblem] {
        match self {
            Self::Invalid(problems) => problems,
            Self::File { error, .. } => error.problems(),
            _ => &[],
        }
    }
}

fn name_of(extension: Option<&str>) -> String {
    extension.map_or("no extension".to_owned(), |name| format!("unknown extension {name:?}"))
}
