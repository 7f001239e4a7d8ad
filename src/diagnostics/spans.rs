//! `tracing` spans and events of a run: kinds, counts, scores and reasons, never content.

use tracing::{Level, Span, field};

use super::{ExcludedItem, IncludedItem, PipelineStage};
use crate::model::ContextBudget;

/// Target of all spans and events, for the filters of subscribers.
pub(crate) const TARGET: &str = "cupel";

/// The span around a whole run.
pub(crate) fn pipeline(candidates: usize, budget: &ContextBudget) -> Span {
    // Counts go out as i64: other integer types reach OpenTelemetry as strings.
    tracing::info_span!(
        target: TARGET,
        "cupel.pipeline",
        cupel.budget.max_tokens = budget.max_tokens(),
        cupel.candidates = candidates as i64,
        "error.type" = field::Empty,
        otel.status_code = field::Empty,
    )
}

/// Span names are static, so each stage has a callsite of its own.
macro_rules! stage_span {
    ($name:literal, $count:expr) => {
        tracing::info_span!(
            target: TARGET,
            concat!("cupel.stage.", $name),
            cupel.stage.name = $name,
            cupel.stage.item_count_in = $count as i64,
            cupel.stage.item_count_out = field::Empty,
            otel.status_code = field::Empty,
        )
    };
}

/// The span around one stage.
pub(crate) fn stage(stage: &PipelineStage, items_in: usize) -> Span {
    match stage {
        PipelineStage::Classify => stage_span!("classify", items_in),
        PipelineStage::Score => stage_span!("score", items_in),
        PipelineStage::Deduplicate => stage_span!("deduplicate", items_in),
        PipelineStage::Slice => stage_span!("slice", items_in),
        PipelineStage::Place => stage_span!("place", items_in),
        PipelineStage::Other(_) => Span::none(),
    }
}

pub(crate) fn record_items_out(span: &Span, items_out: usize) {
    span.record("cupel.stage.item_count_out", items_out as i64);
}

/// Marks a span as failed, by the name of the error: its text may quote anything.
pub(crate) fn record_failure(span: &Span, name: &str) {
    span.record("error.type", name);
    record_error_status(span);
}

/// Marks a span as failed. The field is the one that `tracing-opentelemetry` reads.
pub(crate) fn record_error_status(span: &Span) {
    span.record("otel.status_code", "ERROR");
}

/// Numbers of one selection, for a log that has a line for each.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Summary {
    pub(crate) candidates: usize,
    pub(crate) included: usize,
    /// Tokens of the selection and of the fixed part.
    pub(crate) tokens: i64,
    /// Window, with the fixed part.
    pub(crate) max_tokens: i64,
    pub(crate) sources_late: usize,
    pub(crate) sources_failed: usize,
}

/// Logs the numbers of a selection, if anybody listens.
pub(crate) fn selected(summary: impl FnOnce() -> Summary) {
    if tracing::enabled!(target: TARGET, Level::INFO) {
        let summary = summary();
        tracing::event!(
            name: "cupel.selected",
            target: TARGET,
            Level::INFO,
            cupel.candidates = summary.candidates as i64,
            cupel.items.included = summary.included as i64,
            cupel.tokens.sent = summary.tokens,
            cupel.budget.max_tokens = summary.max_tokens,
            cupel.sources.late = summary.sources_late as i64,
            cupel.sources.failed = summary.sources_failed as i64,
        );
    }
}

/// Returns `true` if anybody listens to the number of items that a stage left out.
pub(crate) fn counts_enabled() -> bool {
    tracing::enabled!(target: TARGET, Level::DEBUG)
}

/// Returns `true` if anybody listens to events about single items.
pub(crate) fn items_enabled() -> bool {
    tracing::enabled!(target: TARGET, Level::TRACE)
}

/// Number of items that a stage left out.
pub(crate) fn stage_exclusions(stage: &PipelineStage, items: usize) {
    tracing::event!(
        name: "cupel.exclusions",
        target: TARGET,
        Level::DEBUG,
        cupel.stage.name = stage.name().to_ascii_lowercase(),
        cupel.exclusion.count = items as i64,
    );
}

pub(crate) fn excluded(excluded: &ExcludedItem) {
    tracing::event!(
        name: "cupel.exclusion",
        target: TARGET,
        Level::TRACE,
        cupel.exclusion.reason = excluded.reason.label(),
        cupel.exclusion.item_kind = excluded.item.kind().label(),
        cupel.exclusion.item_tokens = excluded.item.tokens(),
    );
}

pub(crate) fn included(included: &IncludedItem) {
    tracing::event!(
        name: "cupel.item.included",
        target: TARGET,
        Level::TRACE,
        cupel.item.kind = included.item.kind().label(),
        cupel.item.tokens = included.item.tokens(),
        cupel.item.score = included.score,
    );
}
