//! Events that the pipeline records while it runs.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::model::{ContextBudget, ContextItem};

/// A stage of the pipeline. Sorting, the sixth one, decides about no item and has no events.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum PipelineStage {
    /// Partition into pinned and scoreable items.
    Classify,
    /// Scoring.
    Score,
    /// Removal of duplicate content.
    Deduplicate,
    /// Fitting to the budget.
    Slice,
    /// Merging, overflow handling and final order.
    Place,
    /// A stage of another implementation, by its name.
    #[cfg_attr(feature = "serde", serde(untagged))]
    Other(Arc<str>),
}

impl PipelineStage {
    /// The five stages, in the order they run.
    pub const ALL: [Self; 5] =
        [Self::Classify, Self::Score, Self::Deduplicate, Self::Slice, Self::Place];

    /// The stage's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Classify => "Classify",
            Self::Score => "Score",
            Self::Deduplicate => "Deduplicate",
            Self::Slice => "Slice",
            Self::Place => "Place",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for PipelineStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl From<&str> for PipelineStage {
    fn from(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|stage| stage.name() == name);
        known.unwrap_or_else(|| Self::Other(Arc::from(name)))
    }
}

/// One observation: a stage that has completed, or a decision about one item.
///
/// Two are equal when their serialised forms are.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TraceEvent {
    /// The stage.
    pub stage: PipelineStage,
    /// Duration of the stage in milliseconds; 0.0 for a single item.
    pub duration_ms: f64,
    /// Number of items that entered the stage; 1 for a single item.
    pub item_count: usize,
    /// Decision about the item, or a remark on the stage. Never an item's content.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub message: Option<String>,
    /// Number of items that left the stage; not part of the serialised form.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub item_count_out: Option<usize>,
    /// Start of the stage; not part of the serialised form.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub started_at: Option<SystemTime>,
}

impl PartialEq for TraceEvent {
    fn eq(&self, other: &Self) -> bool {
        let Self { stage, duration_ms, item_count, message, item_count_out: _, started_at: _ } =
            self;
        (stage, duration_ms, item_count, message)
            == (&other.stage, &other.duration_ms, &other.item_count, &other.message)
    }
}

impl TraceEvent {
    /// A stage that has completed.
    #[must_use]
    pub fn stage(stage: PipelineStage, duration_ms: f64, item_count: usize) -> Self {
        Self {
            stage,
            duration_ms,
            item_count,
            message: None,
            item_count_out: None,
            started_at: None,
        }
    }

    /// A decision about one item.
    #[must_use]
    pub fn item(stage: PipelineStage, message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::stage(stage, 0.0, 1) }
    }
}

/// The selection exceeded its target, or what the output reserve leaves of the window, and went
/// on, as [`OverflowStrategy::Proceed`](crate::OverflowStrategy::Proceed) asks.
///
/// Items that exceed the window without the output reserve are left out all the same.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OverflowEvent {
    /// Tokens above the target; above `maxTokens - outputReserve` where the target is not
    /// exceeded.
    pub tokens_over_budget: i64,
    /// Everything selected, pinned items first.
    pub overflowing_items: Vec<ContextItem>,
    /// The budget that was exceeded.
    pub budget: ContextBudget,
}
