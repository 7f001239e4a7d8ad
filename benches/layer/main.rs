//! Cost of the layer, compared with the selection and the wrapped call.
//!
//! `cargo bench --bench layer` prints one table and writes it to `layer.json` in the target
//! folder. Every row is measured in the same run: the contestants take turns, and the table holds
//! medians. `-- --quick` takes fewer samples.
//!
//! Last comes the memory of calls that stand at once, waiting for a source.
//!
//! Futures are polled by hand inside a runtime that does nothing else, so what is timed is the
//! middleware and not the executor.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod cases;
#[allow(dead_code)] // shared with `versus`, which has a rival to feed
#[path = "../versus/data.rs"]
mod data;
mod flight;
mod measure;

use cupel_dev::{Effort, table};

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _context = runtime.enter();
    let rows = cases::run(Effort::from_arguments());
    table::show("layer", "us", env!("CARGO_TARGET_TMPDIR"), &rows);
    flight::show(Effort::from_arguments());
}
