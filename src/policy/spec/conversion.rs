//! Conversion between specs and parts: the registry it reads, the problems it finds, and their error.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use super::ScorerRegistry;
use crate::config::{Finding, Path, Report, meant};
use crate::error::{ConfigProblem, CupelError, ProblemList, QuotedText};

/// Why a spec could not be read, or not be turned into a policy or back.
///
/// ```
/// use cupel::policy::spec::{PlacerSpec, ScorerSpec, SlicerSpec};
/// use cupel::PolicySpec;
/// use cupel::policy::spec::PolicySpecError;
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
    #[error("{}", ProblemList(.0))]
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

/// A conversion that goes on after a problem, so that all of them are found.
#[derive(Default)]
pub(super) struct Conversion<'r> {
    /// None where only the values are checked.
    pub(super) registry: Option<&'r ScorerRegistry>,
    problems: Vec<ConfigProblem>,
    /// Paths whose values could not be read. They have a stand-in, and no rule applies to it.
    unread: HashSet<String>,
}

impl<'r> Conversion<'r> {
    pub(super) fn with(registry: &'r ScorerRegistry) -> Self {
        Self { registry: Some(registry), ..Self::default() }
    }

    /// Records a problem, unless the value there was not read.
    pub(super) fn add(&mut self, path: impl Display, message: impl Into<String>) {
        let path = path.to_string();
        let ends = path.match_indices(['.', '[']).map(|(end, _)| end).chain([path.len()]);
        let mut around = ends.filter_map(|end| path.get(..end));
        if !around.any(|place| self.unread.contains(place)) {
            self.problems.push(ConfigProblem::new(path, message));
        }
    }

    /// Records a scorer or judge that cannot be written as data. `handle` is the method that gives the
    /// registered one.
    pub(super) fn not_registered(&mut self, path: &Path<'_>, name: &str, handle: &str) {
        let message = format!(
            "{name} cannot be written as data: it is neither built in nor registered; build the \
             policy with the handle from ScorerRegistry::{handle}"
        );
        self.add(path, message);
    }

    /// Records a slicer or placer that cannot be written as data.
    pub(super) fn not_built_in(&mut self, path: &Path<'_>, name: &str, what: &str) {
        self.add(path, format!("{name} cannot be written as data: only the built-in {what} can"));
    }

    /// The built value. If its constructor failed, records the problems under `path` and returns none.
    pub(super) fn check<T>(&mut self, path: &Path<'_>, built: Result<T, CupelError>) -> Option<T> {
        match built {
            Ok(value) => return Some(value),
            Err(CupelError::ScorerConfig(error) | CupelError::SlicerConfig(error)) => {
                for problem in error.problems() {
                    self.add(path.join(&problem.path), &problem.message);
                }
            }
            Err(error) => self.add(path, error.to_string()),
        }
        None
    }

    /// The scorer or judge registered under a name. Without a registry, any name that could be
    /// registered will do.
    pub(super) fn registered<T: ?Sized>(
        &mut self,
        name: &str,
        path: &Path<'_>,
        what: &str,
        of: impl Fn(&ScorerRegistry) -> &BTreeMap<String, Arc<T>>,
    ) -> Option<Arc<T>> {
        if name.trim().is_empty() {
            self.add(path, format!("must not be empty or white space only, got {name:?}"));
            return None;
        }
        let registered = of(self.registry?);
        let found = registered.get(name).map(Arc::clone);
        if found.is_none() {
            let known: Vec<&str> = registered.keys().map(String::as_str).collect();
            let known = match known.as_slice() {
                [] => "and none is".to_owned(),
                known => one_of(name, known),
            };
            self.add(path, format!("no {what} is registered as {name:?}, {known}"));
        }
        found
    }

    /// The value, if there is no problem. Without a value there is at least one.
    pub(super) fn finish<T>(self, value: Option<T>) -> Result<T, PolicySpecError> {
        match value {
            Some(value) if self.problems.is_empty() => Ok(value),
            _ => Err(PolicySpecError::Invalid(self.problems)),
        }
    }
}

impl Report for Conversion<'_> {
    fn report(&mut self, path: &Path<'_>, found: Finding<'_>) {
        let message = match found {
            Finding::Missing { expected, .. } => format!("missing, expected {expected}"),
            Finding::Wrong { tree, expected } => format!("must be {expected}, got {tree}"),
            Finding::NoSuchPart { name, known, .. } => {
                format!("got {}, {}", QuotedText(name), one_of(name, known))
            }
            Finding::Unknown { key, known, .. } => {
                format!("unknown key, {}", one_of(key, known))
            }
            Finding::Twice { note, .. } => {
                format!("the key is given twice, expected once{note}")
            }
        };
        self.add(path, message);
        if let Finding::Missing { .. } | Finding::Wrong { .. } = found {
            self.unread.insert(path.to_string());
        }
    }
}

/// List of the valid words, with the one that was probably meant.
fn one_of(word: &str, known: &[&str]) -> String {
    let meant = meant(word, known).map(|meant| format!("; did you mean {meant}?"));
    format!("expected one of {}{}", known.join(", "), meant.unwrap_or_default())
}
