//! How much is told about a run.

use std::fmt;

/// How much is told about a run. Each tier includes the ones before it.
///
/// ```
/// use cupel_otel::CupelVerbosity;
///
/// assert!(CupelVerbosity::StageOnly < CupelVerbosity::Full);
/// assert_eq!(CupelVerbosity::StageAndExclusions.name(), "StageAndExclusions");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum CupelVerbosity {
    /// Spans with counts, for production.
    #[default]
    StageOnly,
    /// Also an event for every item that was left out, for staging.
    StageAndExclusions,
    /// Also an event for every item that was selected, for development.
    Full,
}

impl CupelVerbosity {
    /// The tier's name, as it is exported.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StageOnly => "StageOnly",
            Self::StageAndExclusions => "StageAndExclusions",
            Self::Full => "Full",
        }
    }
}

impl fmt::Display for CupelVerbosity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
