//! Slicers and placers as data.

use serde::{Serialize, Serializer};

use crate::model::ContextKind;
use crate::slicer::ScarcityBehavior;

/// A slicer as data.
///
/// ```
/// use cupel::policy::spec::{CountQuotaSpec, SlicerSpec};
///
/// let spec: SlicerSpec = serde_json::from_str(
///     r#"{ "type": "count_quota", "entries": [{ "kind": "ToolOutput", "require_count": 2 }], "inner": "greedy" }"#,
/// )?;
/// let SlicerSpec::CountQuota { entries, .. } = spec else { panic!("not a count quota") };
/// assert_eq!((entries[0].require_count, entries[0].cap_count), (2, CountQuotaSpec::NO_CAP));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SlicerSpec {
    /// [`GreedySlice`](crate::GreedySlice).
    Greedy,
    /// [`KnapsackSlice`](crate::KnapsackSlice).
    Knapsack {
        /// Tokens in a bucket; 100 where the key is left out.
        bucket_size: i64,
    },
    /// [`QuotaSlice`](crate::QuotaSlice).
    Quota {
        /// The shares of the kinds.
        quotas: Vec<KindQuotaSpec>,
        /// The slicer that fills each kind's part.
        inner: Box<SlicerSpec>,
    },
    /// [`CountQuotaSlice`](crate::CountQuotaSlice).
    CountQuota {
        /// The counts of the kinds.
        entries: Vec<CountQuotaSpec>,
        /// What happens when a kind is short of candidates; `degrade` where the key is left out.
        #[serde(serialize_with = "write_scarcity")]
        scarcity: ScarcityBehavior,
        /// The slicer that fills the rest of the budget: any but a knapsack.
        inner: Box<SlicerSpec>,
    },
    /// [`CountConstrainedKnapsackSlice`](crate::CountConstrainedKnapsackSlice).
    CountConstrainedKnapsack {
        /// The counts of the kinds.
        entries: Vec<CountQuotaSpec>,
        /// What happens when a kind is short of candidates; `degrade` where the key is left out.
        #[serde(serialize_with = "write_scarcity")]
        scarcity: ScarcityBehavior,
        /// Tokens in a bucket of the knapsack; 100 where the key is left out.
        bucket_size: i64,
    },
}

/// A kind's share of the budget, in percent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindQuotaSpec {
    /// The kind.
    pub kind: ContextKind,
    /// The share it is guaranteed; 0 where the key is left out.
    pub require: f64,
    /// The most it may have; 100 where the key is left out.
    pub cap: f64,
}

/// A kind's number of items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CountQuotaSpec {
    /// The kind.
    pub kind: ContextKind,
    /// How many are committed first; 0 where the key is left out.
    pub require_count: usize,
    /// How many there may be; [`NO_CAP`](Self::NO_CAP) where the key is left out.
    #[serde(skip_serializing_if = "is_no_cap")]
    pub cap_count: usize,
}

impl CountQuotaSpec {
    /// Any number of items. It is written by leaving `cap_count` out, since TOML has no number
    /// that large.
    pub const NO_CAP: usize = usize::MAX;
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde asks for
fn is_no_cap(count: &usize) -> bool {
    *count == CountQuotaSpec::NO_CAP
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde asks for
fn write_scarcity<S: Serializer>(
    behavior: &ScarcityBehavior,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match behavior {
        ScarcityBehavior::Degrade => "degrade",
        ScarcityBehavior::Throw => "throw",
    })
}

/// A placer as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlacerSpec {
    /// [`ChronologicalPlacer`](crate::ChronologicalPlacer).
    Chronological,
    /// [`UShapedPlacer`](crate::UShapedPlacer).
    UShaped,
}
