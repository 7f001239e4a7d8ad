//! Reasons for an exclusion without their fields.

use std::fmt;

use crate::diagnostics::ExclusionReason;

/// The variant of an [`ExclusionReason`], to name a reason without inventing its fields.
///
/// Assertions take `impl Into<ReasonKind>`: either a variant or a reference to a reason, of which
/// only the variant counts.
///
/// ```
/// use cupel::ExclusionReason;
/// use cupel::testing::ReasonKind;
///
/// let reason = ExclusionReason::BudgetExceeded { item_tokens: 9, available_tokens: 4 };
/// assert_eq!(ReasonKind::from(&reason), ReasonKind::BudgetExceeded);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReasonKind<'a> {
    /// [`ExclusionReason::BudgetExceeded`].
    BudgetExceeded,
    /// [`ExclusionReason::ScoredTooLow`].
    ScoredTooLow,
    /// [`ExclusionReason::Deduplicated`].
    Deduplicated,
    /// [`ExclusionReason::QuotaCapExceeded`].
    QuotaCapExceeded,
    /// [`ExclusionReason::QuotaRequireDisplaced`].
    QuotaRequireDisplaced,
    /// [`ExclusionReason::NegativeTokens`].
    NegativeTokens,
    /// [`ExclusionReason::PinnedOverride`].
    PinnedOverride,
    /// [`ExclusionReason::Filtered`].
    Filtered,
    /// [`ExclusionReason::CountCapExceeded`].
    CountCapExceeded,
    /// [`ExclusionReason::CountRequireCandidatesExhausted`].
    CountRequireCandidatesExhausted,
    /// [`ExclusionReason::Unknown`] with this name, which is all that tells such reasons apart.
    Unknown(&'a str),
}

impl<'a> ReasonKind<'a> {
    /// The reason's name, as [`ExclusionReason::name`] gives it.
    #[must_use]
    pub fn name(self) -> &'a str {
        match self {
            Self::BudgetExceeded => "BudgetExceeded",
            Self::ScoredTooLow => "ScoredTooLow",
            Self::Deduplicated => "Deduplicated",
            Self::QuotaCapExceeded => "QuotaCapExceeded",
            Self::QuotaRequireDisplaced => "QuotaRequireDisplaced",
            Self::NegativeTokens => "NegativeTokens",
            Self::PinnedOverride => "PinnedOverride",
            Self::Filtered => "Filtered",
            Self::CountCapExceeded => "CountCapExceeded",
            Self::CountRequireCandidatesExhausted => "CountRequireCandidatesExhausted",
            Self::Unknown(name) => name,
        }
    }
}

impl<'a> From<&'a ExclusionReason> for ReasonKind<'a> {
    fn from(reason: &'a ExclusionReason) -> Self {
        match reason {
            ExclusionReason::BudgetExceeded { .. } => Self::BudgetExceeded,
            ExclusionReason::ScoredTooLow { .. } => Self::ScoredTooLow,
            ExclusionReason::Deduplicated { .. } => Self::Deduplicated,
            ExclusionReason::QuotaCapExceeded { .. } => Self::QuotaCapExceeded,
            ExclusionReason::QuotaRequireDisplaced { .. } => Self::QuotaRequireDisplaced,
            ExclusionReason::NegativeTokens { .. } => Self::NegativeTokens,
            ExclusionReason::PinnedOverride { .. } => Self::PinnedOverride,
            ExclusionReason::Filtered { .. } => Self::Filtered,
            ExclusionReason::CountCapExceeded { .. } => Self::CountCapExceeded,
            ExclusionReason::CountRequireCandidatesExhausted { .. } => {
                Self::CountRequireCandidatesExhausted
            }
            ExclusionReason::Unknown { reason, .. } => Self::Unknown(reason),
        }
    }
}

impl fmt::Display for ReasonKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
