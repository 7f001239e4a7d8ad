//! Chooses what goes into a language model's context window, and explains the choice.
//!
//! An agent's candidates for context (chat history, retrieved documents, tool outputs, memories)
//! never fit the model's window. This library selects what does, with the deterministic six-stage
//! Cupel pipeline, and puts that selection where the model is called: in a Tower layer that
//! gathers candidates from async sources under deadlines and forwards the trimmed request.
//!
//! - Start with [`Pipeline`] and [`Policy`] to select from a list you have.
//! - Use [`CupelLayer`] to select in front of a service, and [`Source`] to bring in candidates.
//! - Read a [`SelectionReport`] to learn why an item was included or left out, or look at it with
//!   [`explain`].
//! - Ask [`analytics`] what another budget or policy would have selected.
//!
//! ```
//! use cupel::{ContextBudget, ContextItem, Policy};
//!
//! let items = [
//!     ContextItem::builder("a close match", 40).future_relevance_hint(0.9).build()?,
//!     ContextItem::builder("a distant match", 40).future_relevance_hint(0.2).build()?,
//! ];
//! let report = Policy::rag().dry_run(&items, &ContextBudget::builder(50).build()?)?;
//! assert_eq!(report.included[0].item.content(), "a close match");
//! assert_eq!(report.excluded[0].reason.name(), "BudgetExceeded");
//! # Ok::<(), cupel::CupelError>(())
//! ```
//!
//! # Features
//!
//! - `layer` (default): [`gather`] and [`layer`], on tokio and tower.
//! - `serde`: reading and writing items, budgets, reports and policies.
//! - `config`: policies in JSON, TOML and YAML files, and budget contracts in folders.
//! - `tiktoken`: exact token counts for OpenAI's encodings.
//! - `tools`: what definitions of tools cost, by OpenAI's published rule.
//! - `testing`: assertions over a report.

// The published pages say which feature brings an item.
#![cfg_attr(docsrs, feature(doc_cfg))]
// Without the layer, the core's entrances for it are not used, and links to it lead nowhere; the
// published pages have all features.
#![cfg_attr(not(feature = "layer"), allow(dead_code, rustdoc::broken_intra_doc_links))]
// Types that are built step by step are `#[must_use]`. A getter whose value is not used does no harm.
#![allow(clippy::must_use_candidate)]

mod caught;
#[doc(hidden)]
pub mod config;
mod error;
mod names;
mod order;
mod text_cache;

pub mod analytics;
pub mod contract;
pub mod conversation;
pub mod diagnostics;
pub mod explain;
#[cfg(feature = "layer")]
pub mod gather;
#[cfg(feature = "layer")]
pub mod layer;
pub mod model;
pub mod pipeline;
pub mod placer;
pub mod policy;
pub mod relevance;
pub mod scorer;
pub mod slicer;
pub mod standing;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tokens;

pub use analytics::policy_sensitivity;
pub use diagnostics::{
    DiagnosticTraceCollector, ExcludedItem, ExclusionReason, IncludedItem, InclusionReason,
    NullTraceCollector, OverflowEvent, PipelineStage, SelectionReport, TraceCollector,
    TraceDetailLevel, TraceEvent,
};
pub use error::{ConfigError, ConfigProblem, CupelError};
#[cfg(feature = "layer")]
pub use gather::Source;
#[cfg(feature = "layer")]
pub use layer::{
    ContextAdapter, ContextRequest, ContextRequestAdapter, CupelLayer, Selection, Selector,
};
pub use model::{
    ContextBudget, ContextBudgetBuilder, ContextItem, ContextItemBuilder, ContextKind,
    ContextSource, CountRequirementShortfall, OverflowStrategy, ScoredItem,
};
pub use pipeline::{Pipeline, PipelineBuilder};
pub use placer::{AgePlacer, ChronologicalPlacer, Placer, UShapedPlacer};
#[cfg(feature = "serde")]
pub use policy::spec::{PolicySpec, PolicySpecError, ScorerRegistry};
pub use policy::{Policy, PolicyBuilder, Relevance};
pub use relevance::{Judge, Lexical, Question};
pub use scorer::{
    AgeScorer, CompositeScorer, CompositeScorerBuilder, DecayCurve, DecayScorer, FixedTimeProvider,
    FrequencyScorer, KindScorer, MetadataKeyScorer, MetadataTrustScorer, PriorityScorer,
    RecencyScorer, ReflexiveScorer, ScaledScorer, Scorer, ScorerFacts, SystemTimeProvider,
    TagScorer, TimeProvider,
};
pub use slicer::{
    BestFirstSlice, CountConstrainedKnapsackSlice, CountQuotaEntry, CountQuotaSlice, FillSlice,
    GreedySlice, KnapsackSlice, QuotaSet, QuotaSetBuilder, QuotaSlice, ScarcityBehavior, Sliced,
    Slicer, SlicerFacts,
};

/// The README's examples are tests too.
#[cfg(all(doctest, feature = "config", feature = "layer"))]
#[doc = include_str!("../README.md")]
struct Readme;
