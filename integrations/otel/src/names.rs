//! Names of spans, events and metrics, and of the scope they are recorded under.

/// The instrumentation scope of everything this crate records.
pub const SCOPE: &str = "cupel";

/// The target of the core's own `tracing` spans, to filter them with.
pub const TRACING_TARGET: &str = "cupel";

/// The span of a call through the layer, until the wrapped service is called.
pub const SELECTION_SPAN: &str = "cupel.selection";
/// The span of gathering from all sources.
pub const GATHER_SPAN: &str = "cupel.gather";
/// The span of one source.
pub const SOURCE_SPAN: &str = "cupel.source";
/// The span of an async judge.
pub const JUDGE_SPAN: &str = "cupel.judge";
/// The span of a run of the pipeline.
pub const PIPELINE_SPAN: &str = "cupel.pipeline";

/// The event of an item that was dropped.
pub const EXCLUSION_EVENT: &str = "cupel.exclusion";
/// The event of an item that was selected.
pub const INCLUDED_EVENT: &str = "cupel.item.included";

/// Duration of a call until its request was built or it failed, in seconds.
pub const SELECTION_DURATION: &str = "cupel.selection.duration";
/// Duration of a run of the pipeline, in seconds.
pub const PIPELINE_DURATION: &str = "cupel.pipeline.duration";
/// Tokens of the items that are sent.
pub const SELECTION_TOKENS: &str = "cupel.selection.tokens";
/// Those tokens over the budget's `maxTokens`.
pub const BUDGET_UTILIZATION: &str = "cupel.budget.utilization";
/// Duration of a source, in seconds.
pub const SOURCE_DURATION: &str = "cupel.source.duration";
/// Duration of an async judge, in seconds.
pub const JUDGE_DURATION: &str = "cupel.judge.duration";
/// Number of texts that an async judge was asked about.
pub const JUDGE_TEXTS: &str = "cupel.judge.texts";
/// Number of requests of an async judge to its model.
pub const JUDGE_REQUESTS: &str = "cupel.judge.requests";
/// Number of texts, or pieces of texts, that an async judge knew.
pub const JUDGE_CACHED: &str = "cupel.judge.cached";
/// Number of calls in which an async judge failed or was late.
pub const JUDGE_FAILURES: &str = "cupel.judge.failures";
/// Number of items that are sent.
pub const ITEMS_INCLUDED: &str = "cupel.items.included";
/// Number of items that were dropped, by reason.
pub const ITEMS_EXCLUDED: &str = "cupel.items.excluded";
/// Number of sources that failed or were late.
pub const SOURCE_FAILURES: &str = "cupel.source.failures";
