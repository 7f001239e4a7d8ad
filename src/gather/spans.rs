//! `tracing` spans of gathering: names, counts and outcomes, never content.

use tracing::{Level, Span, field};

use super::{JudgeReport, SourceReport};
use crate::diagnostics::TARGET;
use crate::pipeline::record_failure;

/// The span around gathering from all sources, inside the current span.
pub(super) fn gather(sources: usize) -> Span {
    tracing::info_span!(target: TARGET, "cupel.gather", cupel.sources = sources as i64)
}

/// The span around one source, inside the span of gathering.
pub(super) fn source(gather: &Span, name: &str) -> Span {
    tracing::info_span!(
        target: TARGET,
        parent: gather,
        "cupel.source",
        gen_ai.operation.name = "retrieval",
        gen_ai.data_source.id = name,
        cupel.source.name = name,
        cupel.source.items = field::Empty,
        cupel.source.tokens = field::Empty,
        cupel.source.outcome = field::Empty,
        "error.type" = field::Empty,
        otel.status_code = field::Empty,
    )
}

/// The error's text stays out: it may quote what the source was asked.
pub(super) fn record_source(span: &Span, report: &SourceReport) {
    span.record("cupel.source.items", report.items as i64);
    span.record("cupel.source.tokens", report.tokens);
    span.record("cupel.source.outcome", report.outcome.name());
    if report.outcome.is_failure() {
        record_failure(span, report.outcome.name());
        span.in_scope(|| warn(report));
    }
}

/// One line in the log for a source that failed: its name and outcome.
fn warn(report: &SourceReport) {
    tracing::event!(
        name: "cupel.source.failed",
        target: TARGET,
        Level::WARN,
        cupel.source.name = &*report.name,
        cupel.source.outcome = report.outcome.name(),
    );
}

/// Span around an async judge, inside the current span.
pub(crate) fn judge(name: &str) -> Span {
    tracing::info_span!(
        target: TARGET,
        "cupel.judge",
        cupel.judge.name = name,
        cupel.judge.texts = field::Empty,
        cupel.judge.judged = field::Empty,
        cupel.judge.requests = field::Empty,
        cupel.judge.cached = field::Empty,
        cupel.judge.outcome = field::Empty,
        "error.type" = field::Empty,
        otel.status_code = field::Empty,
    )
}

impl JudgeReport {
    /// As for a source, without the error's text.
    pub(crate) fn record(&self, span: &Span) {
        span.record("cupel.judge.texts", self.texts as i64);
        span.record("cupel.judge.judged", self.judged as i64);
        span.record("cupel.judge.requests", self.requests as i64);
        span.record("cupel.judge.cached", self.cached as i64);
        span.record("cupel.judge.outcome", self.outcome.name());
        if self.outcome.is_failure() {
            record_failure(span, self.outcome.name());
        }
    }
}
