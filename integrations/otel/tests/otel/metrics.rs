//! Names, units, labels and values of the metrics.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::ready;

use cupel::ScoredItem;
use cupel::diagnostics::ExclusionReason;
use cupel::gather::Source;
use cupel::slicer::SliceResult;
use cupel_otel::{CupelMetrics, CupelOtel, CupelOtelTraceCollector, CupelVerbosity};
use opentelemetry::KeyValue;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use tower::{Layer, ServiceExt, service_fn};

use crate::otel::common::{
    Builder, Exported, Request, Slices, arriving, budget, candidates, document, layer, ms, pinned,
    pipeline, request, run, slow,
};

pub(crate) struct Measured {
    provider: SdkMeterProvider,
    exporter: InMemoryMetricExporter,
}

/// A time series: its name and labels, with the number of measurements and their sum.
pub(crate) type Series = BTreeMap<String, (u64, f64)>;

impl Measured {
    pub(crate) fn new() -> Self {
        let exporter = InMemoryMetricExporter::default();
        let reader = PeriodicReader::builder(exporter.clone()).build();
        Self { provider: SdkMeterProvider::builder().with_reader(reader).build(), exporter }
    }

    pub(crate) fn metrics(&self) -> CupelMetrics {
        CupelMetrics::of(&self.provider)
    }

    /// Everything measured so far, and each metric's unit.
    fn read(&self) -> (Series, BTreeMap<String, String>) {
        self.provider.force_flush().unwrap();
        let (mut series, mut units) = (Series::new(), BTreeMap::new());
        let finished = self.exporter.get_finished_metrics().unwrap();
        for scope in finished.last().unwrap().scope_metrics() {
            assert_eq!(scope.scope().name(), "cupel");
            for metric in scope.metrics() {
                units.insert(metric.name().to_owned(), metric.unit().to_owned());
                let mut add = |attributes: Vec<KeyValue>, count: u64, sum: f64| {
                    series.insert(name(metric.name(), attributes), (count, sum));
                };
                match metric.data() {
                    AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                        for point in histogram.data_points() {
                            add(point.attributes().cloned().collect(), point.count(), point.sum());
                        }
                    }
                    AggregatedMetrics::U64(MetricData::Histogram(histogram)) => {
                        for point in histogram.data_points() {
                            let sum = point.sum() as f64;
                            add(point.attributes().cloned().collect(), point.count(), sum);
                        }
                    }
                    AggregatedMetrics::U64(MetricData::Sum(counter)) => {
                        assert!(counter.is_monotonic());
                        for point in counter.data_points() {
                            let labels = point.attributes().cloned().collect();
                            add(labels, point.value(), point.value() as f64);
                        }
                    }
                    other => panic!("{}: {other:?}", metric.name()),
                }
            }
        }
        (series, units)
    }

    pub(crate) fn series(&self) -> Series {
        self.read().0
    }
}

fn name(metric: &str, mut labels: Vec<KeyValue>) -> String {
    labels.sort_by(|a, b| a.key.cmp(&b.key));
    let labels = labels.iter().map(|label| format!("{}={}", label.key, label.value));
    format!("{metric}{{{}}}", labels.collect::<Vec<_>>().join(","))
}

async fn call(builder: Builder, request: Request) -> bool {
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    builder.build().unwrap().layer(model).oneshot(request).await.is_ok()
}

#[test]
fn a_run_is_measured() {
    let measured = Measured::new();
    run(&mut CupelOtelTraceCollector::new(CupelVerbosity::StageOnly).metrics(measured.metrics()));
    let series = measured.series();
    assert_eq!(series["cupel.pipeline.duration{}"].0, 1);
    assert_eq!(series["cupel.selection.tokens{}"], (1, 90.0));
    assert_eq!(series["cupel.budget.utilization{}"], (1, 0.9));
    assert_eq!(series["cupel.items.included{}"].0, 3);
    for reason in ["NegativeTokens", "Deduplicated", "BudgetExceeded", "PinnedOverride"] {
        let excluded = format!("cupel.items.excluded{{cupel.exclusion.reason={reason}}}");
        assert_eq!(series[&excluded].0, 1, "{reason}");
    }
    assert_eq!(series.len(), 4 + 4);
}

#[tokio::test(start_paused = true)]
async fn sources_are_measured_by_name_and_outcome() {
    let measured = Measured::new();
    let failing = Source::list("failing", |_: &Request| ready(Err::<Vec<_>, _>("gone")));
    let builder = layer()
        .source(slow("quick", ms(20)))
        .source(slow("late", ms(900)).deadline(ms(100)).optional())
        .source(failing.optional())
        .hook(CupelOtel::new(CupelVerbosity::StageOnly).metrics(measured.metrics()));
    assert!(call(builder, request()).await);
    let series = measured.series();
    let labels = |name: &str, outcome: &str| {
        format!("{{cupel.source.name={name},cupel.source.outcome={outcome}}}")
    };
    let duration = |name: &str, outcome: &str| {
        let (count, seconds) = series[&format!("cupel.source.duration{}", labels(name, outcome))];
        assert_eq!(count, 1);
        seconds
    };
    assert!((0.020..0.025).contains(&duration("quick", "completed")));
    assert!((0.100..0.105).contains(&duration("late", "timed_out")));
    assert!(duration("failing", "failed") < 0.005);
    for (name, outcome) in [("late", "timed_out"), ("failing", "failed")] {
        let failures = format!("cupel.source.failures{}", labels(name, outcome));
        assert_eq!(series[&failures].0, 1, "{name}");
    }
    let failures = series.keys().filter(|name| name.starts_with("cupel.source.failures"));
    assert_eq!(failures.count(), 2);
}

#[tokio::test]
async fn names_and_units_are_these() {
    let measured = Measured::new();
    let failing = Source::list("failing", |_: &Request| ready(Err::<Vec<_>, _>("gone")));
    let hook = CupelOtel::new(CupelVerbosity::StageOnly).metrics(measured.metrics());
    let asked = request().item(document("large", 500, 0.5));
    assert!(call(layer().source(failing.optional()).hook(hook), asked).await);
    let units = measured.read().1;
    let units: Vec<_> = units.iter().map(|(name, unit)| (name.as_str(), unit.as_str())).collect();
    let wanted = [
        ("cupel.budget.utilization", "1"),
        ("cupel.items.excluded", "{item}"),
        ("cupel.items.included", "{item}"),
        ("cupel.pipeline.duration", "s"),
        ("cupel.selection.duration", "s"),
        ("cupel.selection.tokens", "{token}"),
        ("cupel.source.duration", "s"),
        ("cupel.source.failures", "{failure}"),
    ];
    assert_eq!(units, wanted);
}

#[tokio::test]
async fn measuring_does_not_depend_on_sampling() {
    let measured = Measured::new();
    let out = Exported::sampled(opentelemetry_sdk::trace::Sampler::AlwaysOff);
    let hook = out.hook(CupelVerbosity::Full).metrics(measured.metrics());
    let mut asked = request();
    for item in candidates() {
        asked = asked.item(item);
    }
    assert!(call(layer().source(slow("rag", ms(1))).hook(hook), asked).await);
    let series = measured.series();
    assert!(out.spans().is_empty());
    assert_eq!(series["cupel.pipeline.duration{}"].0, 1);
    assert_eq!(series["cupel.items.included{}"].0, 4);
}

#[tokio::test]
async fn metrics_alone_need_a_provider_that_records_nothing() {
    use opentelemetry::trace::noop::NoopTracerProvider;
    let measured = Measured::new();
    let hook = CupelOtel::new(CupelVerbosity::StageOnly)
        .tracer_provider(&NoopTracerProvider::new())
        .metrics(measured.metrics());
    assert!(call(layer().hook(hook), request()).await);
    assert_eq!(measured.series()["cupel.pipeline.duration{}"].0, 1);
}

#[test]
fn a_run_that_fails_is_measured_by_its_error() {
    let measured = Measured::new();
    let mut collector =
        CupelOtelTraceCollector::new(CupelVerbosity::StageOnly).metrics(measured.metrics());
    let pipeline = pipeline().build().unwrap();
    pipeline.run_traced(&[pinned("p", 101)], &budget(100), &mut collector).unwrap_err();
    let series = measured.series();
    assert_eq!(series["cupel.pipeline.duration{error.type=PinnedExceedsBudget}"].0, 1);
    assert_eq!(series.len(), 1, "{series:?}");
}

#[test]
fn however_many_reasons_there_are_the_series_are_bounded() {
    let measured = Measured::new();
    let mut collector =
        CupelOtelTraceCollector::new(CupelVerbosity::StageOnly).metrics(measured.metrics());
    let slicer = Slices(|items: &[ScoredItem<'_>]| {
        let reason = |n| ExclusionReason::unknown(format!("reason {n}"));
        let exclusions = (0..items.len()).map(|n| (n, reason(n))).collect();
        Ok(SliceResult { exclusions, ..SliceResult::default() })
    });
    let pipeline = pipeline().slicer(slicer).build().unwrap();
    let items: Vec<_> = (0..100).map(|n| document(&format!("{n}"), 1, 0.5)).collect();
    pipeline.run_traced(&items, &budget(100), &mut collector).unwrap();
    let series = measured.series();
    assert_eq!(series["cupel.items.excluded{cupel.exclusion.reason=Unknown}"].0, 100);
    assert_eq!(series.len(), 5);
}

#[tokio::test]
async fn a_streaming_call_counts_what_it_left_out_on_the_way() {
    let measured = Measured::new();
    let hook = CupelOtel::new(CupelVerbosity::StageOnly).metrics(measured.metrics());
    let builder = layer().select_while_gathering(true).source(arriving(candidates())).hook(hook);
    assert!(call(builder, request()).await);
    let series = measured.series();
    let excluded = |reason: &str| {
        series[&format!("cupel.items.excluded{{cupel.exclusion.reason={reason}}}")].0
    };
    // While items arrive, an item that is too large is one whatever made the room small.
    let counted = ["NegativeTokens", "Deduplicated", "BudgetExceeded"].map(excluded);
    assert_eq!(counted, [1, 1, 2]);
    assert_eq!(series["cupel.items.included{}"].0, 3);
}

#[tokio::test]
async fn a_streaming_call_that_fails_is_measured_by_its_error() {
    let measured = Measured::new();
    let hook = CupelOtel::new(CupelVerbosity::StageOnly).metrics(measured.metrics());
    let large = arriving(vec![pinned("too large", 101)]).required();
    assert!(!call(layer().select_while_gathering(true).source(large).hook(hook), request()).await);
    let series = measured.series();
    assert_eq!(series["cupel.pipeline.duration{error.type=PinnedExceedsBudget}"].0, 1);
    assert_eq!(series["cupel.selection.duration{error.type=PinnedExceedsBudget}"].0, 1);
    // The other one is how long the source took.
    assert_eq!(series.len(), 3, "{series:?}");
}

#[test]
fn a_budget_of_nothing_is_used_by_nothing() {
    let measured = Measured::new();
    let mut collector =
        CupelOtelTraceCollector::new(CupelVerbosity::StageOnly).metrics(measured.metrics());
    pipeline().build().unwrap().run_traced(&[], &budget(0), &mut collector).unwrap();
    assert_eq!(measured.series()["cupel.budget.utilization{}"], (1, 0.0));
}
