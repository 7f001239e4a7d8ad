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
mod passes;

use cupel_dev::{Effort, table};

fn main() {
    let effort = Effort::from_arguments();
    let mut rows = cases::run(effort);
    rows.extend(passes::run(effort));
    table::show("versus", "ms", env!("CARGO_TARGET_TMPDIR"), &rows);
}
