//! Chooses what goes into a language model's context window, and explains the choice.

mod error;
mod names;
mod order;
#[cfg(feature = "serde")]
mod wire;

pub mod analytics;
pub mod contract;
pub mod diagnostics;
pub mod model;
pub mod pipeline;
pub mod placer;
pub mod policy;
pub mod scorer;
pub mod slicer;
pub mod tokens;

pub use analytics::{
    BudgetPoint, ItemStatus, PolicySensitivityDiffEntry, PolicySensitivityReport,
    policy_sensitivity, policy_sensitivity_from_pipelines,
};
pub use diagnostics::{
    DiagnosticTraceCollector, ExcludedItem, ExclusionReason, IncludedItem, InclusionReason,
    NullTraceCollector, OverflowEvent, PipelineStage, SelectionReport, TraceCollector,
    TraceDetailLevel, TraceEvent,
};
pub use error::CupelError;
pub use model::{
    ContextBudget, ContextBudgetBuilder, ContextItem, ContextItemBuilder, ContextKind,
    ContextSource, OverflowStrategy, ScoredItem,
};
pub use pipeline::{Pipeline, PipelineBuilder};
pub use placer::{ChronologicalPlacer, Placer, UShapedPlacer};
pub use policy::{Policy, PolicyBuilder};
pub use scorer::{
    CompositeScorer, CompositeScorerBuilder, DecayCurve, DecayScorer, FixedTimeProvider,
    FrequencyScorer, KindScorer, MetadataKeyScorer, MetadataTrustScorer, PriorityScorer,
    RecencyScorer, ReflexiveScorer, ScaledScorer, Scorer, SystemTimeProvider, TagScorer,
    TimeProvider,
};
pub use slicer::{
    CountConstrainedKnapsackSlice, CountQuotaEntry, CountQuotaSlice, CountRequirementShortfall,
    GreedySlice, KindQuota, KnapsackSlice, Monotonicity, PreparedSlice, QuotaSet, QuotaSetBuilder,
    QuotaSlice, QuotaUnit, ScarcityBehavior, Sliced, Slicer,
};
