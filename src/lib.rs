//! Chooses what goes into a language model's context window, and explains the choice.

mod error;
mod names;
mod order;
#[cfg(feature = "serde")]
mod wire;

pub mod diagnostics;
pub mod model;
pub mod pipeline;
pub mod placer;
pub mod scorer;
pub mod slicer;

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
pub use scorer::{
    CompositeScorer, CompositeScorerBuilder, DecayCurve, DecayScorer, FixedTimeProvider,
    FrequencyScorer, KindScorer, MetadataKeyScorer, MetadataTrustScorer, PriorityScorer,
    RecencyScorer, ReflexiveScorer, ScaledScorer, Scorer, SystemTimeProvider, TagScorer,
    TimeProvider,
};
pub use slicer::{
    CountConstrainedKnapsackSlice, CountQuotaEntry, CountQuotaSlice, CountRequirementShortfall,
    GreedySlice, KnapsackSlice, Monotonicity, QuotaSet, QuotaSetBuilder, QuotaSlice,
    ScarcityBehavior, Sliced, Slicer,
};
