//! The names of spans, events and metrics, and of the scope they are recorded under.

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
/// The span of a run of the pipeline.
pub const PIPELINE_SPAN: &str = "cupel.pipeline";

/// The event of an item that was left out.
pub const EXCLUSION_EVENT: &str = "cupel.exclusion";
/// The event of an item that was selected.
pub const INCLUDED_EVENT: &str = "cupel.item.included";

/// How long a call took until its request was built or it failed, in seconds.
pub const SELECTION_DURATION: &str = "cupel.selection.duration";
/// How long a run of the pipeline took, in seconds.
pub const PIPELINE_DURATION: &str = "cupel.pipeline.duration";
/// How many tokens the selected items have that are sent.
pub const SELECTION_TOKENS: &str = "cupel.selection.tokens";
/// Those tokens over the budget's `maxTokens`.
pub const BUDGET_UTILIZATION: &str = "cupel.budget.utilization";
/// How long a source took, in seconds.
pub const SOURCE_DURATION: &str = "cupel.source.duration";
/// How many items are sent.
pub const ITEMS_INCLUDED: &str = "cupel.items.included";
/// How many items were left out, by reason.
pub const ITEMS_EXCLUDED: &str = "cupel.items.excluded";
/// How many sources failed or were late.
pub const SOURCE_FAILURES: &str = "cupel.source.failures";
