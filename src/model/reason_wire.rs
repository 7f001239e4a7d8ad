//! Reads an exclusion reason from its wire form: a name, and the fields that belong to it.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::{ContextKind, ExclusionReason};

/// Every field any reason may have.
#[derive(Deserialize)]
struct ReasonWire {
    reason: String,
    item_tokens: Option<i64>,
    available_tokens: Option<i64>,
    #[serde(default, with = "crate::model::float::option")]
    score: Option<f64>,
    #[serde(default, with = "crate::model::float::option")]
    threshold: Option<f64>,
    deduplicated_against: Option<Arc<str>>,
    kind: Option<ContextKind>,
    cap: Option<i64>,
    actual: Option<i64>,
    displaced_by_kind: Option<ContextKind>,
    tokens: Option<i64>,
    displaced_by: Option<Arc<str>>,
    filter_name: Option<String>,
    count: Option<usize>,
    required: Option<usize>,
    available: Option<usize>,
}

impl<'de> Deserialize<'de> for ExclusionReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = ReasonWire::deserialize(deserializer)?;
        let reason = wire.reason.clone();
        wire.build().map_err(|field| {
            D::Error::custom(format!("exclusion reason {reason} lacks the field {field}"))
        })
    }
}

impl ReasonWire {
    /// The reason, or the name of a field it lacks.
    fn build(self) -> Result<ExclusionReason, &'static str> {
        Ok(match self.reason.as_str() {
            "BudgetExceeded" => ExclusionReason::BudgetExceeded {
                item_tokens: self.item_tokens.ok_or("item_tokens")?,
                available_tokens: self.available_tokens.ok_or("available_tokens")?,
            },
            "ScoredTooLow" => ExclusionReason::ScoredTooLow {
                score: self.score.ok_or("score")?,
                threshold: self.threshold.ok_or("threshold")?,
            },
            "Deduplicated" => ExclusionReason::Deduplicated {
                deduplicated_against: self.deduplicated_against.ok_or("deduplicated_against")?,
            },
            "QuotaCapExceeded" => ExclusionReason::QuotaCapExceeded {
                kind: self.kind.ok_or("kind")?,
                cap: self.cap.ok_or("cap")?,
                actual: self.actual.ok_or("actual")?,
            },
            "QuotaRequireDisplaced" => ExclusionReason::QuotaRequireDisplaced {
                displaced_by_kind: self.displaced_by_kind.ok_or("displaced_by_kind")?,
            },
            "NegativeTokens" => {
                ExclusionReason::NegativeTokens { tokens: self.tokens.ok_or("tokens")? }
            }
            "PinnedOverride" => ExclusionReason::PinnedOverride {
                displaced_by: self.displaced_by.ok_or("displaced_by")?,
            },
            "Filtered" => {
                ExclusionReason::Filtered { filter_name: self.filter_name.ok_or("filter_name")? }
            }
            "CountCapExceeded" => ExclusionReason::CountCapExceeded {
                kind: self.kind.ok_or("kind")?,
                cap: self.cap.and_then(|cap| usize::try_from(cap).ok()).ok_or("cap")?,
                count: self.count.ok_or("count")?,
            },
            "CountRequireCandidatesExhausted" => ExclusionReason::CountRequireCandidatesExhausted {
                kind: self.kind.ok_or("kind")?,
                required: self.required.ok_or("required")?,
                available: self.available.ok_or("available")?,
            },
            _ => ExclusionReason::Unknown { reason: self.reason },
        })
    }
}
