//! Pipeline vectors: all six stages, the output and the report.

use std::sync::{Arc, Mutex};

use cupel::diagnostics::{DiagnosticTraceCollector, TraceDetailLevel};
use cupel::{ContextItem, OverflowStrategy, Pipeline};

use super::build::{Failure, budget, items};
use super::document::View;
use super::run::{Test, epsilon, same_list};
use super::slicing::same_count;
use super::{diagnostics, scorers, slicers};

pub(crate) fn run(test: &Test<'_>, root: &View<'_>) -> Result<(), String> {
    let config = root.required("config", root.table("config")?)?;
    let views = root.tables("items")?;
    let overflows = Arc::new(Mutex::new(Vec::new()));
    let built = || -> Result<_, Failure> {
        // All are read before one is refused, so that no key looks unknown.
        let (pipeline, budget) = (pipeline(&config, &overflows), budget(root));
        let items = items(&views);
        Ok((pipeline?, budget?, items?))
    };
    let expected = root.table("expected")?;
    let report = expected.as_ref().map(|view| view.table("diagnostics")).transpose()?.flatten();
    let expected_count = |key: &str| -> Result<Option<i64>, String> {
        expected.as_ref().map_or(Ok(None), |view| view.integer(key))
    };
    let output = output(root, report.is_some())?;
    let (overflow_tokens, shortfalls) =
        (expected_count("overflow_tokens")?, expected_count("shortfall_count")?);
    let epsilon = epsilon(root)?;
    let Some((pipeline, budget, items)) = test.built(built())? else {
        return Ok(());
    };

    let mut collector = DiagnosticTraceCollector::new(TraceDetailLevel::Item);
    let traced = pipeline.run_traced(&items, &budget, &mut collector);
    let Some(traced) = test.outcome(traced)? else {
        test.outcome(pipeline.run(&items, &budget))?;
        return Ok(());
    };
    check_overflow(overflow_tokens, &overflows)?;
    let contents: Vec<&str> = traced.iter().map(ContextItem::content).collect();
    if let Some(output) = output {
        same_list("output", &output, &contents)?;
    }
    let plain = pipeline.run(&items, &budget).map_err(|error| error.to_string())?;
    let plain: Vec<&str> = plain.iter().map(ContextItem::content).collect();
    same_list("output without a collector", &contents, &plain)?;

    let collected = collector.into_report();
    same_count("shortfalls", shortfalls, collected.count_requirement_shortfalls.len())?;
    diagnostics::check(report.as_ref(), &collected, epsilon)?;
    let included: Vec<&str> = collected.included.iter().map(|i| i.item.content()).collect();
    same_list("included in the report", &contents, &included)?;
    let dry = pipeline.dry_run(&items, &budget).map_err(|error| error.to_string())?;
    diagnostics::check(report.as_ref(), &dry, epsilon)
        .map_err(|problem| format!("dry run: {problem}"))
}

/// The expected output: nothing at all when it is left out, unless a report is expected instead.
fn output<'d>(root: &View<'d>, report: bool) -> Result<Option<Vec<&'d str>>, String> {
    if report && !root.has("expected_output") {
        return Ok(None);
    }
    let views = root.tables("expected_output")?;
    let content = |view: &View<'d>| view.required("content", view.string("content")?);
    views.iter().map(content).collect::<Result<_, _>>().map(Some)
}

fn pipeline(config: &View<'_>, overflows: &Arc<Mutex<Vec<i64>>>) -> Result<Pipeline, Failure> {
    let name = |key: &str| config.required(key, config.string(key)?);
    let strategy = config.string("overflow_strategy")?.unwrap_or("throw");
    let strategy: OverflowStrategy =
        strategy.parse().map_err(|error: cupel::CupelError| error.to_string())?;
    let deduplication = config.boolean("deduplication")?.unwrap_or(true);
    let placer = slicers::placer(name("placer")?)?;
    let scorer = scorers::of_pipeline(config);
    let slicer = slicers::slicer(name("slicer")?, Some(config));
    let mut builder = Pipeline::builder()
        .scorer(scorer?)
        .slicer(slicer?)
        .placer(placer)
        .overflow_strategy(strategy)
        .deduplication(deduplication);
    if strategy == OverflowStrategy::Proceed {
        let overflows = Arc::clone(overflows);
        builder = builder.overflow_observer(move |event| {
            overflows.lock().unwrap().push(event.tokens_over_budget);
        });
    }
    Ok(builder.build()?)
}

/// Checks the observer after one run: told once, or not at all when nothing is over.
fn check_overflow(expected: Option<i64>, overflows: &Mutex<Vec<i64>>) -> Result<(), String> {
    let told = overflows.lock().unwrap().clone();
    match expected {
        Some(0) if told.is_empty() => Ok(()),
        Some(tokens) if told == [tokens] => Ok(()),
        Some(tokens) => Err(format!("overflow: expected {tokens} tokens, observed {told:?}")),
        None => Ok(()),
    }
}
