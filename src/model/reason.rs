//! Why an item was included or left out.

use std::fmt;
use std::sync::Arc;

use super::{ContextKind, UnknownFields};

/// Why an item is not in the selection.
///
/// The specification keeps `ScoredTooLow`, `QuotaCapExceeded` and `QuotaRequireDisplaced` for the
/// future and for components of your own; nothing built in gives them as a reason.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(remote = "Self", tag = "reason")
)]
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
        #[cfg_attr(feature = "serde", serde(with = "crate::model::float"))]
        score: f64,
        /// The threshold.
        #[cfg_attr(feature = "serde", serde(with = "crate::model::float"))]
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
    /// A rule outside the pipeline left the item out. The layer says so of parts of a request that
    /// cannot be sent, such as a tool call without its answer.
    Filtered {
        /// The rule, in a few words.
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
    #[cfg_attr(feature = "serde", serde(untagged, skip_deserializing))]
    Unknown {
        /// The name.
        reason: String,
        /// Its other fields.
        #[cfg_attr(feature = "serde", serde(flatten))]
        fields: UnknownFields,
    },
}

/// The names are those of the variants.
macro_rules! named {
    ($($variant:ident),+ $(,)?) => {
        impl ExclusionReason {
            /// A reason that this version does not know, without fields.
            #[must_use]
            pub fn unknown(reason: impl Into<String>) -> Self {
                Self::Unknown { reason: reason.into(), fields: UnknownFields::default() }
            }

            /// The names of all reasons this version knows.
            pub const NAMES: [&'static str; 10] = [$(stringify!($variant)),+];

            /// The reason's name, as it appears in JSON.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant { .. } => stringify!($variant),)+
                    Self::Unknown { reason, .. } => reason,
                }
            }
        }
    };
}

named![
    BudgetExceeded,
    ScoredTooLow,
    Deduplicated,
    QuotaCapExceeded,
    QuotaRequireDisplaced,
    NegativeTokens,
    PinnedOverride,
    Filtered,
    CountCapExceeded,
    CountRequireCandidatesExhausted,
];

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
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "reason"))]
#[non_exhaustive]
pub enum InclusionReason {
    /// Its score won it a place within the budget.
    Scored,
    /// It is pinned.
    Pinned,
    /// It costs nothing.
    ZeroToken,
    /// A reason of another implementation or of a later version, by its name.
    #[cfg_attr(feature = "serde", serde(untagged))]
    Unknown {
        /// The name.
        reason: String,
        /// Its other fields.
        #[cfg_attr(feature = "serde", serde(flatten))]
        fields: UnknownFields,
    },
}

impl InclusionReason {
    /// The reason's name, as it appears in JSON.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Scored => "Scored",
            Self::Pinned => "Pinned",
            Self::ZeroToken => "ZeroToken",
            Self::Unknown { reason, .. } => reason,
        }
    }
}

impl fmt::Display for InclusionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
