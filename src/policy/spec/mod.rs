//! A policy as data: read from JSON, TOML or YAML, turned into a [`Policy`](crate::Policy), and back.
//!
//! ```
//! use cupel::{PolicySpec, ScorerRegistry, SystemTimeProvider};
//!
//! let text = r#"{
//!     "scorers": [
//!         { "type": "recency", "weight": 3 },
//!         { "type": "kind", "weight": 1, "weights": { "ToolOutput": 1.0, "Message": 0.5 } }
//!     ],
//!     "slicer": {
//!         "type": "count_quota",
//!         "entries": [{ "kind": "ToolOutput", "require_count": 2, "cap_count": 9 }],
//!         "inner": "greedy"
//!     },
//!     "placer": "chronological",
//!     "overflow": "truncate"
//! }"#;
//! let spec: PolicySpec = serde_json::from_str(text)?;
//! let registry = ScorerRegistry::new(SystemTimeProvider);
//! let policy = spec.to_policy(&registry)?;
//! assert_eq!(PolicySpec::from_policy(&policy, &registry)?, spec);
//!
//! let typing_error = text.replace("cap_count", "capCount");
//! assert_eq!(
//!     serde_json::from_str::<PolicySpec>(&typing_error).unwrap_err().to_string(),
//!     "slicer.entries[0].capCount: unknown key, expected one of kind, require_count, cap_count",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Keys
//!
//! Keys are in `snake_case`, as in the conformance vectors and in other files that people write;
//! the `camelCase` of items, budgets and reports belongs to what programs exchange. A part is a
//! table with a `type`; its bare name will do where no other key is needed. Keys in parentheses
//! may be left out.
//!
//! | key | value |
//! | --- | --- |
//! | `scorers` | a list of scorers, each with a `weight`: their weighted average |
//! | `scorer` | in place of `scorers`: one scorer as it is |
//! | `slicer`, `placer` | one part each |
//! | (`overflow`) | `throw` (the default), `truncate` or `proceed` |
//! | (`deduplication`) | `true` (the default) or `false` |
//!
//! | scorer | keys |
//! | --- | --- |
//! | `recency`, `priority`, `frequency`, `reflexive` | |
//! | `kind` | (`weights`: a table of kinds and numbers) |
//! | `tag` | `weights`: a table of tags and numbers, (`ignore_case`) |
//! | `metadata_trust` | `default_score` |
//! | `metadata_key` | `key`, `value`, `boost` |
//! | `decay` | `curve`, (`null_timestamp_score`) |
//! | `scaled` | `scorer` |
//! | `composite` | `scorers` |
//! | `custom` | `name`: what it is called in the [`ScorerRegistry`] |
//!
//! | curve of `decay` | keys |
//! | --- | --- |
//! | `exponential` | `half_life_secs` |
//! | `step` | `windows`: a list of `max_age_secs` and `score` |
//! | `window` | `max_age_secs` |
//!
//! | slicer | keys |
//! | --- | --- |
//! | `greedy` | |
//! | `knapsack` | (`bucket_size`) |
//! | `quota` | `quotas`: a list of `kind`, (`require`), (`cap`); `inner`: a slicer |
//! | `count_quota` | `entries`: a list of `kind`, (`require_count`), (`cap_count`); `inner`: a slicer; (`scarcity`: `degrade` or `throw`) |
//! | `count_constrained_knapsack` | `entries`, (`bucket_size`), (`scarcity`) |
//!
//! The placers are `chronological` and `u_shaped`.
//!
//! # Composites
//!
//! A composite of one scorer is not that scorer: it is `scorers` with one entry, whereas the bare
//! scorer is `scorer`. `scorer` with a composite in it is the same as `scorers`, and is written as
//! such.

mod check;
mod error;
mod fields;
#[cfg(feature = "config")]
mod file;
mod from_policy;
mod path;
mod read;
mod registry;
mod scorer;
mod slicer;
mod to_policy;
mod tree;
mod values;

use serde::{Serialize, Serializer};

use crate::model::OverflowStrategy;
use path::Problems;

pub use error::PolicySpecError;
pub use path::SpecProblem;
pub use registry::ScorerRegistry;
pub use scorer::{DecayCurveSpec, DecayWindowSpec, ScorerSpec, WeightedScorer};
pub use slicer::{CountQuotaSpec, KindQuotaSpec, PlacerSpec, SlicerSpec};

/// A policy as data; see the [module](self) for the keys.
///
/// Reading one checks everything but the names of custom scorers, and an error lists every
/// problem with its path. One built in code is checked by [`validate`](Self::validate) and by
/// [`to_policy`](Self::to_policy).
///
/// ```
/// use cupel::PolicySpec;
/// use cupel::policy::spec::{PlacerSpec, ScorerSpec, SlicerSpec, WeightedScorer};
///
/// let scorers = vec![
///     WeightedScorer { scorer: ScorerSpec::Recency, weight: 2.0 },
///     WeightedScorer { scorer: ScorerSpec::default_kinds(), weight: -1.0 },
/// ];
/// let spec = PolicySpec::new(
///     ScorerSpec::Composite { scorers },
///     SlicerSpec::Knapsack { bucket_size: 0 },
///     PlacerSpec::UShaped,
/// );
/// assert_eq!(
///     spec.validate().unwrap_err().to_string(),
///     "2 problems:\n  scorers[1].weight: must be positive, got -1\n  slicer.bucket_size: must be at least 1, got 0",
/// );
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PolicySpec {
    /// How items are scored.
    pub scorer: ScorerSpec,
    /// How the budget is filled.
    pub slicer: SlicerSpec,
    /// How the selection is ordered.
    pub placer: PlacerSpec,
    /// What happens when the selection exceeds the target.
    pub overflow: OverflowStrategy,
    /// Whether items with equal content are reduced to the best one.
    pub deduplication: bool,
}

impl PolicySpec {
    /// A spec that throws on overflow and deduplicates, as a policy does unless told otherwise.
    #[must_use]
    pub fn new(scorer: ScorerSpec, slicer: SlicerSpec, placer: PlacerSpec) -> Self {
        Self { scorer, slicer, placer, overflow: OverflowStrategy::default(), deduplication: true }
    }

    /// Checks every value; whether custom scorers are registered shows in
    /// [`to_policy`](Self::to_policy).
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Invalid`] lists every value that is not allowed, with its path.
    pub fn validate(&self) -> Result<(), PolicySpecError> {
        let mut problems = Problems::default();
        self.check(&mut problems, None);
        problems.finish(Some(()))
    }
}

/// How a spec is written.
#[derive(Serialize)]
struct Written<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    scorer: Option<&'a ScorerSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scorers: Option<&'a [WeightedScorer]>,
    slicer: &'a SlicerSpec,
    placer: PlacerSpec,
    #[serde(serialize_with = "lower_case")]
    overflow: OverflowStrategy,
    deduplication: bool,
}

impl Serialize for PolicySpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (scorer, scorers) = match &self.scorer {
            ScorerSpec::Composite { scorers } => (None, Some(scorers.as_slice())),
            scorer => (Some(scorer), None),
        };
        let written = Written {
            scorer,
            scorers,
            slicer: &self.slicer,
            placer: self.placer,
            overflow: self.overflow,
            deduplication: self.deduplication,
        };
        written.serialize(serializer)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde asks for
fn lower_case<S: Serializer>(
    strategy: &OverflowStrategy,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&strategy.to_string().to_ascii_lowercase())
}
