//! This library beside the published crate `cupel` 1.2.0 and beside the machine's own limit.
//!
//! `cargo bench --bench versus` prints one table and writes it to `versus.json` in the target
//! folder. Every row is measured in the same run: rounds alternate between the contestants, and
//! the table holds medians. `-- --quick` takes fewer rounds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod cases;
mod data;
mod measure;
mod table;

fn main() {
    // `cargo test --benches` asks a bench to run as a test: then only see that it works.
    let arguments: Vec<String> = std::env::args().collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let effort = if has("--test") {
        measure::Effort::Smoke
    } else if has("--quick") {
        measure::Effort::Quick
    } else {
        measure::Effort::Full
    };
    let rows = cases::run(effort);
    table::print(&rows);
    table::write_json(&rows);
}
