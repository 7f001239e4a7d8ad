//! Selects the context for one question out of some 300 candidates, and shows what and why.
//!
//! Run it with `cargo run --example quickstart`; add `-- --all` for every line of every list.

mod scenario;

use std::error::Error;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::time::Duration;

use cupel::{
    CompositeScorer, ContextKind, CupelError, DecayCurve, DecayScorer, FixedTimeProvider,
    GreedySlice, KindScorer, Pipeline, QuotaSet, QuotaSlice, ReflexiveScorer, TagScorer,
    UShapedPlacer,
};
use scenario::Scenario;
use scenario::report::View;
use scenario::table::Paint;

fn main() -> Result<(), Box<dyn Error>> {
    let scenario = Scenario::load()?;
    let pipeline = pipeline(&scenario)?;
    let report = pipeline.dry_run(&scenario.items, &scenario.budget)?;

    let view = View {
        scenario: &scenario,
        report: &report,
        paint: Paint::for_stdout(),
        all: std::env::args().any(|argument| argument == "--all"),
    };
    let mut out = BufWriter::new(io::stdout().lock());
    match view.print(&mut out).and_then(|()| out.flush()) {
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
