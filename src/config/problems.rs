//! Paths into a configuration, and the rules that constructors check settings by.

use std::collections::HashSet;
use std::fmt;
use std::fmt::Display;
use std::hash::Hash;

use crate::error::{ConfigError, ConfigProblem, CupelError};

/// Path of a setting, as a chain back to the root: `scorers[1].weight`.
#[derive(Debug, Clone, Copy)]
pub enum Path<'a> {
    /// The whole configuration.
    Root,
    /// Value of a key of a table.
    Key(&'a Path<'a>, &'a str),
    /// Element of a list.
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    /// Returns the path of a key below this path.
    pub fn key<'a>(&'a self, key: &'a str) -> Path<'a> {
        Path::Key(self, key)
    }

    /// Returns the path of an element below this path.
    pub fn index(&self, index: usize) -> Path<'_> {
        Path::Index(self, index)
    }

    /// Returns the text of this path followed by `rest`, the text of a path below it.
    #[cfg(feature = "serde")]
    pub fn join(&self, rest: &str) -> String {
        let dot = match (self, rest.chars().next()) {
            (Path::Root, _) | (_, None | Some('[')) => "",
            _ => ".",
        };
        format!("{self}{dot}{rest}")
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Path::Key(parent, key) if !is_plain(key) => write!(f, "{parent}[{key:?}]"),
            Path::Key(Path::Root, key) => f.write_str(key),
            Path::Key(parent, key) => write!(f, "{parent}.{key}"),
        }
    }
}

/// Returns `true` if a key reads well after a dot; kinds and tags may be any text.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// Problems with the settings of a component.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<ConfigProblem>);

impl Problems {
    pub(crate) fn add(&mut self, path: &Path<'_>, message: impl Into<String>) {
        self.0.push(ConfigProblem::new(path, message));
    }

    fn error(self, component: &str) -> Result<(), ConfigError> {
        if self.0.is_empty() { Ok(()) } else { Err(ConfigError::of(component, self.0)) }
    }

    /// An error if the settings of a scorer have problems.
    pub(crate) fn scorer(self, component: &str) -> Result<(), CupelError> {
        self.error(component).map_err(CupelError::ScorerConfig)
    }

    /// An error if the settings of a slicer have problems.
    pub(crate) fn slicer(self, component: &str) -> Result<(), CupelError> {
        self.error(component).map_err(CupelError::SlicerConfig)
    }
}

/// The rules that several components share.
impl Problems {
    pub(crate) fn require(&mut self, ok: bool, path: &Path<'_>, valid: &str, got: impl Display) {
        if !ok {
            self.add(path, format!("must be {valid}, got {got}"));
        }
    }

    pub(crate) fn positive(&mut self, path: &Path<'_>, number: f64) {
        let valid = if number.is_finite() { "positive" } else { "a finite number" };
        self.require(number.is_finite() && number > 0.0, path, valid, number);
    }

    pub(crate) fn not_negative(&mut self, path: &Path<'_>, number: f64) {
        self.require(number.is_finite() && number >= 0.0, path, "finite and at least 0", number);
    }

    /// A score: between 0 and 1.
    pub(crate) fn score(&mut self, path: &Path<'_>, number: f64) {
        self.require((0.0..=1.0).contains(&number), path, "between 0 and 1", number);
    }

    /// Every kind of a list of tables has one table.
    pub(crate) fn kinds_once<'k, K: Eq + Hash + Display + 'k>(
        &mut self,
        path: &Path<'_>,
        kinds: impl Iterator<Item = &'k K>,
    ) {
        let mut seen = HashSet::with_capacity(kinds.size_hint().0);
        for (index, kind) in kinds.enumerate() {
            if !seen.insert(kind) {
                let message =
                    format!("{kind} has an entry already, expected one (kinds ignore case)");
                self.add(&path.index(index).key("kind"), message);
            }
        }
    }

    /// Weights that are finite one by one must also have a finite sum, which is returned.
    pub(crate) fn finite_sum(
        &mut self,
        path: &Path<'_>,
        weights: impl Iterator<Item = f64>,
    ) -> f64 {
        let (total, all_finite) = weights.fold((0.0, true), |(total, finite), weight| {
            (total + weight, finite && weight.is_finite())
        });
        if all_finite && !total.is_finite() {
            self.add(path, format!("the weights must add up to a finite number, got {total}"));
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_like_code_and_quotes_odd_keys() {
        let scorers = Path::Root.key("scorers");
        let second = scorers.index(1);
        assert_eq!(second.key("weight").to_string(), "scorers[1].weight");
        let weights = second.key("weights");
        assert_eq!(weights.key("ToolOutput").to_string(), "scorers[1].weights.ToolOutput");
        assert_eq!(weights.key("a b.c").to_string(), r#"scorers[1].weights["a b.c"]"#);
        assert_eq!(Path::Root.key("").to_string(), r#"[""]"#);
    }
}
