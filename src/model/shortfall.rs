//! A count requirement that could not be met.

use std::fmt;

use super::ContextKind;

/// A kind of which fewer items were taken than its configuration requires.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CountRequirementShortfall {
    /// The kind that is short.
    pub kind: ContextKind,
    /// The configured count.
    pub required_count: usize,
    /// How many candidates were committed.
    pub satisfied_count: usize,
}

impl fmt::Display for CountRequirementShortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, required_count, satisfied_count } = self;
        write!(f, "{kind}: {satisfied_count} of {required_count} required items")
    }
}
