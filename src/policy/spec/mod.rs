//! A policy as data: read from JSON, TOML or YAML, turned into a [`Policy`](crate::Policy), and back.
//!
//! ```
//! use cupel::PolicySpec;
//! use cupel::policy::spec::ScorerRegistry;
//! use cupel::scorer::SystemTimeProvider;
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
//!     "slicer.entries[0].capCount: unknown key, expected one of kind, require_count, cap_count; \
//!      did you mean cap_count?",
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
//! | (`plan`) | how the turns of a conversation are planned: `none` (the default), `default`, or [settings](PolicySpec::plan) |
//! | (`relevance`) | a judge, and what is different when there is a question: [`RelevanceSpec`] |
//!
//! [`ScorerSpec`], [`SlicerSpec`] and [`PlacerSpec`] list the types and their keys.
//!
//! # Limits
//!
//! A file is a regular file of at most 1 MiB; a pipe or a device is refused without waiting for it.
//! Whatever the format, tables and lists nest at most 64 levels, there are at most 100,000 values
//! and keys with 8 MiB of text, what an alias of YAML repeats counted again, and a key has at most
//! 1,024 bytes. The limits are fixed, an error names the one that was passed, and messages show
//! the beginning of long values.
//!
//! # Composites
//!
//! A composite of one scorer is not that scorer: it is `scorers` with one entry, whereas the bare
//! scorer is `scorer`. `scorer` with a composite in it is the same as `scorers`, and is written as
//! such.

mod conversion;
#[cfg(feature = "config")]
mod file;
mod meaning;
mod meaning_rules;
mod nested;
mod parts;
mod policy;
mod registry;
mod relevance;
mod scorer;
mod slicer;

use serde::Serialize;

use crate::model::{OverflowStrategy, ToolLimit, TurnPlan};

pub use conversion::PolicySpecError;
pub use meaning::{EmbeddingsSpec, KeyVariable, MeaningModel, MeaningSpec};
pub use nested::NestedSpec;
pub use registry::ScorerRegistry;
pub use relevance::{JudgeSpec, RelevanceSpec};
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
///     WeightedScorer::new(ScorerSpec::Recency, 2.0),
///     WeightedScorer::new(ScorerSpec::default_kinds(), -1.0),
/// ];
/// let spec = PolicySpec::new(
///     ScorerSpec::Composite { scorers },
///     SlicerSpec::Knapsack { bucket_size: 0, widen_buckets: false },
///     PlacerSpec::UShaped,
/// );
/// assert_eq!(
///     spec.validate().unwrap_err().to_string(),
///     "2 problems:\n  scorers[1].weight: must be positive, got -1\n  slicer.bucket_size: must be at least 1, got 0",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PolicySpec {
    /// Scorer of the items.
    #[serde(flatten, serialize_with = "scorer::write_scorer")]
    pub scorer: ScorerSpec,
    /// Slicer that fills the budget.
    pub slicer: SlicerSpec,
    /// Placer that orders the selection.
    pub placer: PlacerSpec,
    /// Reaction when the selection exceeds the target.
    #[serde(serialize_with = "parts::lower_case")]
    pub overflow: OverflowStrategy,
    /// `true` to reduce items with equal content to the best one.
    pub deduplication: bool,
    /// Plan for the turns of a conversation; none if they are not planned.
    ///
    /// A table, whose keys may all be left out and then have the defaults of [`TurnPlan::new`]; the
    /// word `default` for all of these; or `none`. A policy without the key plans nothing, as one
    /// that is built in code. A preset that plans is written with its plan.
    ///
    /// | key | value |
    /// | --- | --- |
    /// | (`recall`) | the share of the window for what is recalled |
    /// | (`recall_with_sources`) | that share where there are sources |
    /// | (`standing`) | the share of the window for the user's standing orders; 0 turns them off |
    /// | (`prompt_cache`) | whether the provider has a prompt cache, which a wide grid serves |
    /// | (`grid_tokens`) | the width of the grid in tokens, instead of one that follows from the window |
    /// | (`excerpt`, `faded`) | the shares from which on a tool's result is an excerpt, and in the older part |
    /// | (`hash`) | whether an excerpt's mark has a hash of the whole result |
    /// | (`recall_by_policy`) | whether the policy's own scorer and slicer decide what is recalled |
    /// | (`compare`) | whether reports say what newest-first trimming would have sent |
    ///
    /// ```
    /// use cupel::PolicySpec;
    /// use cupel::model::TurnPlan;
    ///
    /// let json = r#"{"scorer": "recency", "slicer": "greedy", "placer": "age", "plan": {"hash": true}}"#;
    /// let spec: PolicySpec = serde_json::from_str(json)?;
    /// assert_eq!(spec.plan, Some(TurnPlan::new().hash(true)));
    /// let error = serde_json::from_str::<PolicySpec>(&json.replace(r#""hash": true"#, r#""recall": 2"#));
    /// let error = error.unwrap_err().to_string();
    /// assert!(error.contains("plan.recall: must be between 0 and 1, got 2"), "{error}");
    /// let none: PolicySpec = serde_json::from_str(&json.replace(r#"{"hash": true}"#, r#""none""#))?;
    /// assert_eq!(none.plan, None);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<TurnPlan>,
    /// Use of the question; none to ignore it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance: Option<RelevanceSpec>,
    /// Limit for definitions of tools in a request that does not fit.
    ///
    /// A share of the window such as `0.1`; the word `never`, which leaves no tool out; the word `default`; or
    /// a table. A policy without the key has the default, a quarter of the window.
    ///
    /// | key | value |
    /// | --- | --- |
    /// | (`share`) | the share of the window |
    /// | (`keep`) | names of tools that always stay, or patterns in which `*` stands for any characters |
    ///
    /// ```
    /// use cupel::PolicySpec;
    /// use cupel::model::ToolLimit;
    ///
    /// let json = r#"{"scorer": "recency", "slicer": "greedy", "placer": "age", "tools": 0.1}"#;
    /// let spec: PolicySpec = serde_json::from_str(json)?;
    /// assert_eq!(spec.tools, ToolLimit::new().share(0.1));
    /// let table = json.replace("0.1", r#"{"keep": ["git_*"]}"#);
    /// let spec: PolicySpec = serde_json::from_str(&table)?;
    /// assert!(spec.tools.keeps("git_log"));
    /// let error = serde_json::from_str::<PolicySpec>(&json.replace("0.1", "2")).unwrap_err().to_string();
    /// assert!(error.contains("tools.share: must be between 0 and 1, got 2"), "{error}");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[serde(skip_serializing_if = "crate::model::is_default")]
    pub tools: ToolLimit,
}

impl PolicySpec {
    /// A spec that throws on overflow and deduplicates, as a policy does unless told otherwise.
    pub fn new(scorer: ScorerSpec, slicer: SlicerSpec, placer: PlacerSpec) -> Self {
        Self {
            scorer,
            slicer,
            placer,
            overflow: OverflowStrategy::default(),
            deduplication: true,
            plan: None,
            relevance: None,
            tools: ToolLimit::new(),
        }
    }
}
