//! Selects the context for one question out of some 300 candidates, and shows what and why.
//!
//! Run it with `cargo run --example quickstart`. After `--`, `--all` shows every line of every list,
//! `--html <file>` writes a page to look at, and `--json <file>` what the example `explain` reads.

mod scenario;

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::time::Duration;

use cupel::explain::Explanation;
use cupel::placer::UShapedPlacer;
use cupel::scorer::{
    CompositeScorer, DecayCurve, DecayScorer, FixedTimeProvider, KindScorer, TagScorer,
};
use cupel::slicer::{QuotaSet, QuotaSlice};
use cupel::{ContextKind, CupelError, GreedySlice, Pipeline, ReflexiveScorer};
use scenario::Scenario;

fn main() -> Result<(), Box<dyn Error>> {
    let scenario = Scenario::load()?;
    let pipeline = pipeline(&scenario)?;
    let explanation = Explanation::dry_run(&pipeline, &scenario.items, &scenario.budget)?
        .title(scenario.question());

    let mut rows = 8;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut file = || arguments.next().ok_or_else(|| format!("{argument} needs a file name"));
        match argument.as_str() {
            "--all" => rows = usize::MAX,
            "--html" => std::fs::write(file()?, explanation.page().to_string())?,
            "--json" => std::fs::write(file()?, explanation.to_json())?,
            _ => {
                let known = "--all, --html <file> or --json <file>";
                return Err(format!("unknown argument {argument:?}, expected {known}").into());
            }
        }
    }
    match write!(io::stdout(), "{}", explanation.text().rows(rows).for_stdout()) {
        // `| head` has read enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => Ok(printed?),
    }
}

/// Scores by relevance, age, topic and kind; shares the budget among kinds; best at both ends.
fn pipeline(scenario: &Scenario) -> Result<Pipeline, CupelError> {
    let half_hour = DecayCurve::exponential(Duration::from_secs(30 * 60))?;
    let age = DecayScorer::new(FixedTimeProvider::new(scenario.now), half_hour)
        // Documents carry no time: a runbook is neither fresh nor stale.
        .null_timestamp_score(0.1)?;
    let topic = TagScorer::new([
        ("capture", 1.0),
        ("postgres", 1.0),
        ("idempotency", 1.0),
        ("migration", 0.8),
        ("replay", 0.8),
    ])?;
    let scorer = CompositeScorer::builder()
        .add(ReflexiveScorer, 0.75)
        .add(age, 0.10)
        .add(topic, 0.10)
        .add(KindScorer::default(), 0.05)
        .build()?;
    // Every kind is sure of a share; what is left goes where the candidates are.
    let quotas = QuotaSet::builder()
        .require(ContextKind::document(), 30.0)
        .require(ContextKind::tool_output(), 30.0)
        .require(ContextKind::message(), 15.0)
        .require(ContextKind::memory(), 5.0)
        .cap(ContextKind::memory(), 10.0)
        .build()?;
    Pipeline::builder()
        .scorer(scorer)
        .slicer(QuotaSlice::new(quotas, GreedySlice))
        .placer(UShapedPlacer)
        .build()
}
