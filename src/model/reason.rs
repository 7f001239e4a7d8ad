//! Why an item was included or left out.

use std::fmt;
use std::sync::Arc;

use super::ContextKind;

/// Why an item is not in the selection.
///
/// The specification reserves `ScoredTooLow`, `QuotaCapExceeded`, `QuotaRequireDisplaced` and
/// `Filtered` for the future and for custom components; nothing built in emits them.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "reason"))]
#[non_exhaustive]
pub enum ExclusionReason {
    /// The item did not fit.
    BudgetExceeded {
        /// The item's tokens.
        item_tokens: i64,
        /// What the selection left free.
        available_tokens: i64,
    },
    /// The item scored below a threshold.
    ScoredTooLow {
        /// The item's score.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::model::float::serialize"))]
        score: f64,
        /// The threshold.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::model::float::serialize"))]
        threshold: f64,
    },
    /// Another item has the same content and a better score.
    Deduplicated {
        /// The content they share.
        deduplicated_against: Arc<str>,
    },
    /// The item's kind is over its share.
    QuotaCapExceeded {
        /// The kind.
        kind: ContextKind,
        /// The cap.
        cap: i64,
        /// What the kind would have had.
        actual: i64,
    },
    /// Another kind's required share came first.
    QuotaRequireDisplaced {
        /// That kind.
        displaced_by_kind: ContextKind,
    },
    /// The item's token count is negative.
    NegativeTokens {
        /// The count.
        tokens: i64,
    },
    /// The item is too large only because pinned items take their part of the budget.
    PinnedOverride {
        /// Content of the first pinned item.
        displaced_by: Arc<str>,
    },
    /// A filter of the user's left the item out.
    Filtered {
        /// The filter's name.
        filter_name: String,
    },
    /// The selection has as many items of this kind as it may.
    CountCapExceeded {
        /// The kind.
        kind: ContextKind,
        /// The most items allowed.
        cap: usize,
        /// How many there were already.
        count: usize,
    },
    /// A kind has fewer candidates than it requires.
    ///
    /// The built-in slicers report this as a
    /// [`CountRequirementShortfall`](crate::CountRequirementShortfall) instead.
    CountRequireCandidatesExhausted {
        /// The kind.
        kind: ContextKind,
        /// How many it requires.
        required: usize,
        /// How many there are.
        available: usize,
    },
    /// A reason of another implementation or of a later version, by its name.
    #[cfg_attr(feature = "serde", serde(untagged))]
    Unknown {
        /// The name.
        reason: String,
    },
}

impl ExclusionReason {
    /// The names of all reasons this version knows.
    pub const NAMES: [&'static str; 10] = [
        "BudgetExceeded",
        "ScoredTooLow",
        "Deduplicated",
        "QuotaCapExceeded",
        "QuotaRequireDisplaced",
        "NegativeTokens",
        "PinnedOverride",
        "Filtered",
        "CountCapExceeded",
        "CountRequireCandidatesExhausted",
    ];

    /// The reason's name, as it appears in JSON.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::BudgetExceeded { .. } => "BudgetExceeded",
            Self::ScoredTooLow { .. } => "ScoredTooLow",
            Self::Deduplicated { .. } => "Deduplicated",
            Self::QuotaCapExceeded { .. } => "QuotaCapExceeded",
            Self::QuotaRequireDisplaced { .. } => "QuotaRequireDisplaced",
            Self::NegativeTokens { .. } => "NegativeTokens",
            Self::PinnedOverride { .. } => "PinnedOverride",
            Self::Filtered { .. } => "Filtered",
            Self::CountCapExceeded { .. } => "CountCapExceeded",
            Self::CountRequireCandidatesExhausted { .. } => "CountRequireCandidatesExhausted",
            Self::Unknown { reason } => reason,
        }
    }
}

/// The reason and its numbers; never an item's content, so that it may be logged.
impl fmt::Display for ExclusionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::BudgetExceeded { item_tokens, available_tokens } => {
                write!(f, ": {item_tokens} tokens requested, {available_tokens} available")
            }
            Self::ScoredTooLow { score, threshold } => {
                write!(f, ": scored {score}, below {threshold}")
            }
            Self::QuotaCapExceeded { kind, cap, actual } => {
                write!(f, ": {kind} at {actual}, cap {cap}")
            }
            Self::QuotaRequireDisplaced { displaced_by_kind } => {
                write!(f, ": displaced by {displaced_by_kind}")
            }
            Self::NegativeTokens { tokens } => write!(f, ": {tokens} tokens"),
            Self::Filtered { filter_name } => write!(f, ": by {filter_name}"),
            Self::CountCapExceeded { kind, cap, count } => {
                write!(f, ": {count} items of {kind} already, cap {cap}")
            }
            Self::CountRequireCandidatesExhausted { kind, required, available } => {
                write!(f, ": {available} items of {kind}, {required} required")
            }
            Self::Deduplicated { .. } | Self::PinnedOverride { .. } | Self::Unknown { .. } => {
                Ok(())
            }
        }
    }
}

/// Why an item is in the selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(tag = "reason"))]
#[non_exhaustive]
pub enum InclusionReason {
    /// Its score won it a place within the budget.
    Scored,
    /// It is pinned.
    Pinned,
    /// It costs nothing.
    ZeroToken,
}

impl InclusionReason {
    /// The reason's name, as it appears in JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Scored => "Scored",
            Self::Pinned => "Pinned",
            Self::ZeroToken => "ZeroToken",
        }
    }
}

impl fmt::Display for InclusionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
