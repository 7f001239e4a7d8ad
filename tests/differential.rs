//! Compares the library with the published implementation on 20,000 random cases a run, and both
//! with the specification's own text.
//!
//! The cases come from a fixed seed; `CUPEL_SEED=<number>` tries others. A failure prints the seed
//! and the smallest case that still fails. Where the published implementation departs from the
//! text, the test says which rule that is and holds the library to the rule.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod support;

#[path = "differential/departures.rs"]
mod departures;
#[path = "differential/expected.rs"]
mod expected;
#[path = "differential/facts.rs"]
mod facts;
#[path = "differential/guard.rs"]
mod guard;
#[path = "differential/items.rs"]
mod items;
#[path = "differential/pipelines.rs"]
mod pipelines;
#[path = "differential/placers.rs"]
mod placers;
#[path = "differential/reports.rs"]
mod reports;
#[path = "differential/runner.rs"]
mod runner;
#[path = "differential/scorers.rs"]
mod scorers;
#[path = "differential/slicers.rs"]
mod slicers;

#[test]
fn a_run_has_twenty_thousand_cases() {
    let cases = scorers::CASES + slicers::CASES + placers::CASES + pipelines::CASES;
    assert_eq!(cases, 20_000);
}
