//! Passes what happens in a run to its collector and to `tracing`. Spans and events have kinds, counts, scores
//! and reasons, never content.

use std::time::{Instant, SystemTime};

use foldhash::HashMap;
use tracing::span::EnteredSpan;
use tracing::{Level, Span, field};

use crate::diagnostics::{
    ExcludedItem, ExclusionReason, IncludedItem, InclusionReason, ItemDetails, PipelineStage,
    TARGET, TraceCollector, TraceDetailLevel, TraceEvent,
};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, CountRequirementShortfall, ScoredItem};
use crate::scorer::Scorer;

/// Collector and log of a run. Both are asked once what they want, so that a run that nobody observes
/// does no extra work. The default observes nothing, for what-if runs.
#[derive(Default)]
pub(super) struct Observer<'c> {
    /// None if the collector is disabled.
    collector: Option<&'c mut dyn TraceCollector>,
    recording: bool,
    items: bool,
    item_events: bool,
    tracing: bool,
    tracing_items: bool,
    /// Items left out in the current stage; none if nobody logs their number.
    left_out: Option<usize>,
    /// None if nobody wants the parts of scores.
    score_parts: Option<ExplainedScores>,
}

/// Explained scores by item and score. An item that is twice among the candidates may have two.
type ExplainedScores = HashMap<(usize, u64), Box<ItemDetails>>;

/// A stage that has begun. If it is dropped before it is left, it has failed.
pub(super) struct StageRun {
    stage: PipelineStage,
    items_in: usize,
    span: EnteredSpan,
    started: Option<(SystemTime, Instant)>,
    completed: bool,
}

impl Drop for StageRun {
    fn drop(&mut self) {
        if !self.completed {
            record_error_status(&self.span);
        }
    }
}

impl<'c> Observer<'c> {
    pub(super) fn begin(
        collector: &'c mut dyn TraceCollector,
        candidates: usize,
        budget: &ContextBudget,
    ) -> Self {
        let mut observer = Self {
            tracing: true,
            tracing_items: tracing::enabled!(target: TARGET, Level::TRACE),
            left_out: tracing::enabled!(target: TARGET, Level::DEBUG).then_some(0),
            ..Self::default()
        };
        if collector.is_enabled() {
            collector.begin_run(candidates, budget);
            // Only now a collector may know that this run is of no interest.
            if collector.is_enabled() {
                observer.recording = true;
                observer.items = collector.wants_items();
                observer.item_events = collector.detail_level() >= TraceDetailLevel::Item;
                observer.score_parts = collector.wants_score_parts().then(HashMap::default);
            }
            observer.collector = Some(collector);
        }
        observer
    }

    /// Calls the collector if `wanted`.
    fn tell(&mut self, wanted: bool, tell: impl FnOnce(&mut dyn TraceCollector)) {
        if let Some(collector) = self.collector.as_deref_mut().filter(|_| wanted) {
            tell(collector);
        }
    }

    /// Ends the run that this span is about.
    pub(super) fn end(mut self, span: &Span, outcome: Result<(), &CupelError>) {
        if let Err(error) = outcome {
            record_failure(span, error.name());
        }
        self.tell(true, |collector| collector.end_run(outcome));
    }

    /// Returns `true` if anybody wants to know about single items, or the number of those left out.
    pub(super) fn wants_items(&self) -> bool {
        self.left_out.is_some() || self.shows_items()
    }

    /// Returns `true` if anybody wants to know about single items.
    fn shows_items(&self) -> bool {
        self.items || self.item_events || self.tracing_items
    }

    pub(super) fn enter(&mut self, stage: PipelineStage, items_in: usize) -> StageRun {
        self.tell(self.recording, |collector| collector.begin_stage(&stage, items_in));
        self.left_out = self.left_out.map(|_| 0);
        StageRun {
            span: if self.tracing { span_of(&stage, items_in) } else { Span::none() }.entered(),
            started: self.recording.then(|| (SystemTime::now(), Instant::now())),
            stage,
            items_in,
            completed: false,
        }
    }

    pub(super) fn leave(&mut self, running: StageRun, items_out: usize) {
        self.leave_with(running, items_out, None);
    }

    /// As [`leave`](Self::leave), with a message about the stage.
    pub(super) fn leave_with(
        &mut self,
        mut running: StageRun,
        items_out: usize,
        message: Option<String>,
    ) {
        running.completed = true;
        running.span.record("cupel.stage.item_count_out", items_out as i64);
        if let Some(left_out) = self.left_out {
            trace_exclusions(&running.stage, left_out);
        }
        if let Some((started_at, started)) = running.started {
            let duration_ms = started.elapsed().as_secs_f64() * 1_000.0;
            let event = TraceEvent {
                item_count_out: Some(items_out),
                started_at: Some(started_at),
                message,
                ..TraceEvent::stage(running.stage.clone(), duration_ms, running.items_in)
            };
            self.tell(true, |collector| collector.record_stage_event(event));
        }
    }

    /// Returns `true` if the collector wants the parts of scores.
    pub(super) fn wants_score_parts(&self) -> bool {
        self.score_parts.is_some()
    }

    /// Keeps the parts of scores until the items are reported.
    pub(super) fn explain(&mut self, scorer: &dyn Scorer, items: &[ContextItem], scores: &[f64]) {
        if let Some(all) = &mut self.score_parts {
            let explained = scorer.explain_all(items).into_iter();
            for ((item, score), mut parts) in items.iter().zip(scores).zip(explained) {
                // The score that counts, whatever the clock said in between.
                parts.score = *score;
                let details = ItemDetails { score: Some(parts), ..ItemDetails::default() };
                all.insert((item.address(), score.to_bits()), Box::new(details));
            }
        }
    }

    fn details(&self, scored: ScoredItem<'_>) -> Option<Box<ItemDetails>> {
        if !self.items {
            return None;
        }
        let mut details = ItemDetails::of(scored.item());
        if let Some(all) = &self.score_parts {
            let key = (scored.item().address(), scored.score().to_bits());
            if let Some(parts) = all.get(&key) {
                details.get_or_insert_default().score.clone_from(&parts.score);
            }
        }
        details
    }

    fn item_event(&mut self, stage: &PipelineStage, message: String) {
        let event = TraceEvent::item(stage.clone(), message);
        self.tell(true, |collector| collector.record_item_event(event));
    }

    pub(super) fn scored(&mut self, scores: &[f64]) {
        if self.item_events {
            for score in scores {
                self.item_event(&PipelineStage::Score, format!("Scored: {score}"));
            }
        }
    }

    pub(super) fn excluded(
        &mut self,
        stage: &PipelineStage,
        scored: ScoredItem<'_>,
        reason: ExclusionReason,
    ) {
        self.left_out = self.left_out.map(|count| count + 1);
        if !self.shows_items() {
            return;
        }
        let details = self.details(scored);
        let excluded =
            ExcludedItem { item: scored.item().clone(), score: scored.score(), reason, details };
        if self.tracing_items {
            trace_excluded(&excluded);
        }
        if self.item_events {
            self.item_event(stage, excluded.reason.to_string());
        }
        self.tell(self.items, |collector| collector.record_excluded(stage, excluded));
    }

    pub(super) fn included(&mut self, scored: ScoredItem<'_>) {
        if !self.shows_items() {
            return;
        }
        let reason = match scored.item() {
            item if item.pinned() => InclusionReason::Pinned,
            item if item.tokens() == 0 => InclusionReason::ZeroToken,
            _ => InclusionReason::Scored,
        };
        let details = self.details(scored);
        let included =
            IncludedItem { item: scored.item().clone(), score: scored.score(), reason, details };
        if self.tracing_items {
            trace_included(&included);
        }
        if self.item_events {
            let message = format!("Included: {}, score {}", included.reason, included.score);
            self.item_event(&PipelineStage::Place, message);
        }
        self.tell(self.items, |collector| collector.record_included(included));
    }

    pub(super) fn shortfalls(&mut self, shortfalls: Vec<CountRequirementShortfall>) {
        for shortfall in shortfalls {
            self.tell(self.items, |collector| collector.record_shortfall(shortfall));
        }
    }
}

/// The span around a whole run.
pub(super) fn pipeline_span(candidates: usize, budget: &ContextBudget) -> Span {
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
fn span_of(stage: &PipelineStage, items_in: usize) -> Span {
    match stage {
        PipelineStage::Classify => stage_span!("classify", items_in),
        PipelineStage::Score => stage_span!("score", items_in),
        PipelineStage::Deduplicate => stage_span!("deduplicate", items_in),
        PipelineStage::Slice => stage_span!("slice", items_in),
        PipelineStage::Place => stage_span!("place", items_in),
        PipelineStage::Other(_) => Span::none(),
    }
}

/// Marks a span as failed, by the name of the error: its text may quote anything.
pub(crate) fn record_failure(span: &Span, name: &str) {
    span.record("error.type", name);
    record_error_status(span);
}

/// Marks a span as failed. The field is the one that `tracing-opentelemetry` reads.
fn record_error_status(span: &Span) {
    span.record("otel.status_code", "ERROR");
}

/// Logs the number of items that a stage left out.
fn trace_exclusions(stage: &PipelineStage, items: usize) {
    tracing::event!(
        name: "cupel.exclusions",
        target: TARGET,
        Level::DEBUG,
        cupel.stage.name = stage.name().to_ascii_lowercase(),
        cupel.exclusion.count = items as i64,
    );
}

fn trace_excluded(excluded: &ExcludedItem) {
    tracing::event!(
        name: "cupel.exclusion",
        target: TARGET,
        Level::TRACE,
        cupel.exclusion.reason = excluded.reason.label(),
        cupel.exclusion.item_kind = excluded.item.kind().label(),
        cupel.exclusion.item_tokens = excluded.item.tokens(),
    );
}

fn trace_included(included: &IncludedItem) {
    tracing::event!(
        name: "cupel.item.included",
        target: TARGET,
        Level::TRACE,
        cupel.item.kind = included.item.kind().label(),
        cupel.item.tokens = included.item.tokens(),
        cupel.item.score = included.score,
    );
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
pub(crate) fn trace_selected(summary: impl FnOnce() -> Summary) {
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
