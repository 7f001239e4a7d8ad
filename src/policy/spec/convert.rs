//! Conversion between specs and parts: the registry it reads, and the problems it finds.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::sync::Arc;

use super::{PolicySpecError, ScorerRegistry};
use crate::config::{Found, Path, Report, meant};
use crate::error::{ConfigProblem, CupelError, Quoted};

/// A conversion that goes on after a problem, so that all of them are found.
#[derive(Default)]
pub(super) struct Convert<'r> {
    /// None where only the values are checked.
    pub(super) registry: Option<&'r ScorerRegistry>,
    problems: Vec<ConfigProblem>,
    /// Paths whose values could not be read. They have a stand-in, and no rule applies to it.
    unread: HashSet<String>,
}

impl<'r> Convert<'r> {
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

    /// Records a part that cannot be written as data.
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

impl Report for Convert<'_> {
    fn report(&mut self, path: &Path<'_>, found: Found<'_>) {
        let message = match found {
            Found::Missing { expected, .. } => format!("missing, expected {expected}"),
            Found::Wrong { tree, expected } => format!("must be {expected}, got {tree}"),
            Found::NoSuchPart { name, known, .. } => {
                format!("got {}, {}", Quoted(name), one_of(name, known))
            }
            Found::Unknown { key, known, .. } => format!("unknown key, {}", one_of(key, known)),
            Found::Twice { note, .. } => format!("the key is given twice, expected once{note}"),
        };
        self.add(path, message);
        if let Found::Missing { .. } | Found::Wrong { .. } = found {
            self.unread.insert(path.to_string());
        }
    }
}

/// List of the valid words, with the one that was probably meant.
fn one_of(word: &str, known: &[&str]) -> String {
    let meant = meant(word, known).map(|meant| format!("; did you mean {meant}?"));
    format!("expected one of {}{}", known.join(", "), meant.unwrap_or_default())
}
