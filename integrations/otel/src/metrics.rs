//! Histograms and counters of selections and sources.

use std::time::Duration;

use cupel::ContextBudget;
use cupel::diagnostics::ExclusionReason;
use cupel::gather::{GatherReport, JudgeReport};
use cupel::layer::Selection;
use opentelemetry::metrics::{Counter, Histogram, Meter, MeterProvider};
use opentelemetry::{KeyValue, global};

use crate::spans::scope;
use crate::{attributes, names};

/// Metric instruments for a [hook](crate::CupelOtel::metrics) or a
/// [collector](crate::CupelOtelTraceCollector::metrics). Cheap to clone.
///
/// | metric | unit | labels |
/// | --- | --- | --- |
/// | `cupel.selection.duration` | s | `error.type` of a call that failed |
/// | `cupel.pipeline.duration` | s | `error.type` of a run that failed |
/// | `cupel.selection.tokens` | {token} | |
/// | `cupel.budget.utilization` | 1 | |
/// | `cupel.source.duration` | s | `cupel.source.name`, `cupel.source.outcome` |
/// | `cupel.judge.duration` | s | `cupel.judge.name`, `cupel.judge.outcome` |
/// | `cupel.judge.texts` | {text} | `cupel.judge.name` |
/// | `cupel.judge.requests` | {request} | `cupel.judge.name` |
/// | `cupel.judge.cached` | {text} | `cupel.judge.name` |
/// | `cupel.judge.failures` | {failure} | `cupel.judge.name`, `cupel.judge.outcome` |
/// | `cupel.items.included` | {item} | |
/// | `cupel.items.excluded` | {item} | `cupel.exclusion.reason` |
/// | `cupel.source.failures` | {failure} | `cupel.source.name`, `cupel.source.outcome` |
///
/// Labels come from fixed sets and from the names the layer's sources are configured with, so the
/// number of time series is bounded. Measuring does not depend on sampling.
#[derive(Debug, Clone)]
pub struct CupelMetrics {
    pub(crate) selection_duration: Histogram<f64>,
    pub(crate) pipeline_duration: Histogram<f64>,
    selection_tokens: Histogram<u64>,
    budget_utilization: Histogram<f64>,
    source_duration: Histogram<f64>,
    items_included: Counter<u64>,
    items_excluded: Counter<u64>,
    source_failures: Counter<u64>,
    judge_duration: Histogram<f64>,
    judge_texts: Counter<u64>,
    judge_requests: Counter<u64>,
    judge_cached: Counter<u64>,
    judge_failures: Counter<u64>,
}

/// Boundaries from 10 µs to 10 s; the usual ones begin at 5 s.
const SECONDS: [f64; 19] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025,
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// Boundaries of the utilization. More than 1 is possible if a selection may overflow.
const SHARES: [f64; 13] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.5];

impl CupelMetrics {
    /// Makes instruments of the global meter provider, which must be set before.
    #[must_use]
    pub fn global() -> Self {
        Self::new(&global::meter_with_scope(scope()))
    }

    /// Makes instruments of a meter provider.
    #[must_use]
    pub fn of(provider: &impl MeterProvider) -> Self {
        Self::new(&provider.meter_with_scope(scope()))
    }

    fn new(meter: &Meter) -> Self {
        let shares = |name, unit, description, boundaries: &[f64]| {
            let histogram = meter.f64_histogram(name).with_unit(unit).with_description(description);
            histogram.with_boundaries(boundaries.to_vec()).build()
        };
        let seconds = |name, description| shares(name, "s", description, &SECONDS);
        let counter = |name, unit, description| {
            meter.u64_counter(name).with_unit(unit).with_description(description).build()
        };
        // Powers of two up to the largest windows of today.
        let windows = (7..=20).map(|power| f64::from(1_u32 << power));
        Self {
            selection_duration: seconds(
                names::SELECTION_DURATION,
                "Time from a call until its request was built, or until it failed.",
            ),
            pipeline_duration: seconds(names::PIPELINE_DURATION, "Time to select the context."),
            selection_tokens: meter
                .u64_histogram(names::SELECTION_TOKENS)
                .with_unit("{token}")
                .with_description("Tokens of a selection.")
                .with_boundaries(std::iter::once(0.0).chain(windows).collect())
                .build(),
            budget_utilization: shares(
                names::BUDGET_UTILIZATION,
                "1",
                "Tokens of a selection over the budget's maximum.",
                &SHARES,
            ),
            source_duration: seconds(names::SOURCE_DURATION, "Time until a source had ended."),
            items_included: counter(names::ITEMS_INCLUDED, "{item}", "Items selected."),
            items_excluded: counter(names::ITEMS_EXCLUDED, "{item}", "Items left out, by reason."),
            source_failures: counter(
                names::SOURCE_FAILURES,
                "{failure}",
                "Sources that failed, panicked or were late.",
            ),
            judge_duration: seconds(names::JUDGE_DURATION, "Time until an async judge had ended."),
            judge_texts: counter(
                names::JUDGE_TEXTS,
                "{text}",
                "Texts that judges were asked about.",
            ),
            judge_requests: counter(
                names::JUDGE_REQUESTS,
                "{request}",
                "Requests of judges to their models.",
            ),
            judge_cached: counter(
                names::JUDGE_CACHED,
                "{text}",
                "Texts, or pieces of texts, that judges knew.",
            ),
            judge_failures: counter(
                names::JUDGE_FAILURES,
                "{failure}",
                "Async judges that failed, panicked or were late.",
            ),
        }
    }

    /// Records the items that are sent and dropped.
    pub(crate) fn record_selection(&self, selection: &Selection, run: &RunNumbers) {
        self.record_included(selection.sent.items, selection.sent.tokens, &selection.budget);
        run.record_excluded(self);
        // Items that the adapter dropped.
        self.record_excluded("Filtered", selection.refused as u64);
        if let Some(stream) = &selection.stream {
            // Items that were dropped before the pipeline ran.
            self.record_excluded("BudgetExceeded", stream.dropped.over_budget as u64);
            self.record_excluded("Deduplicated", stream.dropped.duplicates as u64);
            self.record_excluded("NegativeTokens", stream.dropped.negative_tokens as u64);
        }
    }

    fn record_included(&self, items: usize, tokens: i64, budget: &ContextBudget) {
        let tokens = u64::try_from(tokens).unwrap_or(0);
        let share = match budget.max_tokens() {
            0 => 0.0,
            most => tokens as f64 / most as f64,
        };
        self.selection_tokens.record(tokens, &[]);
        self.budget_utilization.record(share, &[]);
        self.items_included.add(items as u64, &[]);
    }

    /// Records the sources and the async judge of a call.
    pub(crate) fn record_gather(&self, gather: &GatherReport) {
        for source in &gather.sources {
            let labels = [
                KeyValue::new(attributes::SOURCE_NAME, source.name.clone()),
                KeyValue::new(attributes::SOURCE_OUTCOME, source.outcome.name()),
            ];
            self.source_duration.record(source.elapsed.as_secs_f64(), &labels);
            if source.outcome.is_failure() {
                self.source_failures.add(1, &labels);
            }
        }
        if let Some(judge) = gather.judge.as_ref().filter(|judge| judge.started_at.is_some()) {
            self.record_judge(judge);
        }
    }

    /// Records an async judge. One whose earlier answers were used has done nothing.
    fn record_judge(&self, judge: &JudgeReport) {
        let name = KeyValue::new(attributes::JUDGE_NAME, judge.name.clone());
        let outcome = KeyValue::new(attributes::JUDGE_OUTCOME, judge.outcome.name());
        let labels = [name.clone(), outcome];
        self.judge_duration.record(judge.elapsed.as_secs_f64(), &labels);
        self.judge_texts.add(judge.texts as u64, std::slice::from_ref(&name));
        self.judge_requests.add(judge.requests as u64, std::slice::from_ref(&name));
        self.judge_cached.add(judge.cached as u64, std::slice::from_ref(&name));
        if judge.outcome.is_failure() {
            self.judge_failures.add(1, &labels);
        }
    }

    fn record_excluded(&self, reason: &'static str, items: u64) {
        if items > 0 {
            let label = [KeyValue::new(attributes::EXCLUSION_REASON, reason)];
            self.items_excluded.add(items, &label);
        }
    }
}

/// Records a duration. Each error has a series of its own.
pub(crate) fn record_duration(
    histogram: &Histogram<f64>,
    took: Duration,
    error: Option<&'static str>,
) {
    let label = error.map(|name| KeyValue::new(attributes::ERROR_TYPE, name));
    histogram.record(took.as_secs_f64(), label.as_slice());
}

/// Numbers of one pipeline run.
#[derive(Debug)]
pub(crate) struct RunNumbers {
    budget: ContextBudget,
    items: usize,
    tokens: i64,
    /// Counts by position in `ExclusionReason::NAMES`; the last one is for unknown reasons.
    excluded: [u64; ExclusionReason::NAMES.len() + 1],
}

impl RunNumbers {
    pub(crate) fn new(budget: &ContextBudget) -> Self {
        Self { budget: budget.clone(), items: 0, tokens: 0, excluded: Default::default() }
    }

    pub(crate) fn include(&mut self, tokens: i64) {
        self.items += 1;
        self.tokens = self.tokens.saturating_add(tokens);
    }

    pub(crate) fn exclude(&mut self, reason: &ExclusionReason) {
        let label = reason.label();
        let names = ExclusionReason::NAMES;
        let position = names.iter().position(|known| *known == label).unwrap_or(names.len());
        if let Some(count) = self.excluded.get_mut(position) {
            *count += 1;
        }
    }

    /// Records a run without a layer.
    pub(crate) fn record(&self, metrics: &CupelMetrics) {
        metrics.record_included(self.items, self.tokens, &self.budget);
        self.record_excluded(metrics);
    }

    fn record_excluded(&self, metrics: &CupelMetrics) {
        let names = ExclusionReason::NAMES.into_iter().chain(["Unknown"]);
        for (name, count) in names.zip(self.excluded) {
            metrics.record_excluded(name, count);
        }
    }
}
