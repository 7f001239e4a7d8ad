//! What can go wrong between a file, a spec and a policy.

use std::fmt;
use std::path::PathBuf;

use super::SpecProblem;

/// Why a spec could not be read, or not be turned into a policy or back.
///
/// ```
/// use cupel::{PolicySpec, PolicySpecError};
///
/// let spec: Result<PolicySpec, _> = serde_json::from_str(
///     r#"{ "scorers": [{ "type": "recency", "weight": -1 }], "slicer": "greedy", "placer": "u_shaped" }"#,
/// );
/// assert!(spec.unwrap_err().to_string().starts_with("scorers[0].weight: must be positive, got -1"));
/// # let _ = PolicySpecError::Invalid(vec![]);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PolicySpecError {
    /// The spec says something it cannot mean. Every problem is listed, each with its path.
    Invalid(Vec<SpecProblem>),
    /// The text is not what its format allows.
    Syntax {
        /// JSON, TOML or YAML.
        format: &'static str,
        /// What the parser said, with the line and column where it knows them.
        message: String,
    },
    /// The spec cannot be written in this format.
    Unwritable {
        /// JSON, TOML or YAML.
        format: &'static str,
        /// What the writer said.
        message: String,
    },
    /// The file cannot be read.
    Unreadable(String),
    /// The file's name does not say which format it has.
    UnknownFormat {
        /// The extension, if there is one.
        extension: Option<String>,
    },
    /// Something is wrong with a file.
    File {
        /// Which one.
        file: PathBuf,
        /// What.
        error: Box<PolicySpecError>,
    },
}

impl PolicySpecError {
    /// The problems with the content, with their paths; none when it never got that far.
    #[must_use]
    pub fn problems(&self) -> &[SpecProblem] {
        match self {
            Self::Invalid(problems) => problems,
            Self::File { error, .. } => error.problems(),
            _ => &[],
        }
    }
}

impl fmt::Display for PolicySpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(problems) => match problems.as_slice() {
                [only] => only.fmt(f),
                all => {
                    write!(f, "{} problems:", all.len())?;
                    all.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
                }
            },
            Self::Syntax { format, message } => write!(f, "not valid {format}: {message}"),
            Self::Unwritable { format, message } => {
                write!(f, "cannot be written as {format}: {message}")
            }
            Self::Unreadable(problem) => write!(f, "cannot be read: {problem}"),
            Self::UnknownFormat { extension } => {
                match extension {
                    Some(extension) => write!(f, "unknown extension {extension:?}")?,
                    None => f.write_str("no extension")?,
                }
                f.write_str(", expected json, toml, yaml or yml")
            }
            Self::File { file, error } => write!(f, "{}: {error}", file.display()),
        }
    }
}

impl std::error::Error for PolicySpecError {}
