//! The rules of settings: what a constructor checks, and everything it has to say.

use std::collections::HashSet;
use std::fmt::Display;
use std::hash::Hash;

use super::Path;
use crate::error::{ConfigError, ConfigProblem, CupelError};

/// What is wrong with the settings of a component.
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
