//! Costs of telemetry for a run of the pipeline and for a call through the layer.
//!
//! `cargo bench -p tower-cupel-otel --bench cost` prints one table. Every row is measured in the
//! same run: the contestants take turns, and the table holds medians. `-- --quick` takes fewer
//! samples.
//!
//! Recorded spans go to a processor that lets go of them, so what is timed is the caller's part
//! and not an exporter's.

#![allow(
    missing_docs,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod cases;
mod measure;

fn main() {
    // `cargo test --benches` asks a bench to run as a test: then only see that it works.
    let arguments: Vec<String> = std::env::args().collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let samples = match (has("--test"), has("--quick")) {
        (true, _) => 1,
        (false, true) => 301,
        (false, false) => 3_001,
    };
    println!("| work | N | us | against | us | ratio | goal | |");
    println!("| --- | ---: | ---: | --- | ---: | ---: | ---: | --- |");
    for n in [100, 1_000] {
        cases::runs(n, samples);
        cases::calls(n, samples);
    }
}
