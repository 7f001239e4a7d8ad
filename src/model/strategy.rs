//! The way in which a policy selects.

use std::fmt;

/// Way in which a policy selects: conversations are planned if it has a plan, everything else is scored.
///
/// ```
/// use cupel::model::Strategy;
///
/// assert_eq!(Strategy::default(), Strategy::Scored);
/// assert_eq!(Strategy::Planned.to_string(), "planned");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Strategy {
    /// A [plan](crate::conversation::plan) decides what is sent of a conversation.
    Planned,
    /// Candidates are scored, and the best that fit are sent. Names that are not known are read as this.
    #[default]
    #[cfg_attr(feature = "serde", serde(other))]
    Scored,
}

impl Strategy {
    /// The strategy for a request that is planned or not.
    pub(crate) fn of(is_planned: bool) -> Self {
        if is_planned { Self::Planned } else { Self::Scored }
    }

    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Scored => "scored",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
