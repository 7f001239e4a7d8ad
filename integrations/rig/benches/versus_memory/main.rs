//! Fitting a rig history to a window: this crate against `rig-memory`'s `TokenWindowMemory`.
//!
//! `cargo bench -p tower-cupel-rig --bench versus_memory` prints one table and writes it to `rig.json` in the target
//! folder. Both get the same histories, the same budget and the same counter, and take turns in
//! one run; times are medians. `-- --quick` takes fewer samples.
//!
//! Two counters: this crate's estimate, which reads the text, and a quarter of the bytes, which
//! costs next to nothing, so that only the rest is compared.
//!
//! Both prefer what is recent. `TokenWindowMemory` walks back from the newest message and stops at
//! the first one that does not fit. Ours takes the request apart, scores, selects, and puts it
//! together, behind the layer as an agent would have it: as far back as the budget reaches
//! (`RigAdapter::horizon`), the same with a report, and with a look at every message.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod contestants;
mod history;
mod measure;
mod table;

use contestants::Counting;
use cupel_dev::Effort;
use history::Shape;

fn main() {
    let effort = Effort::from_arguments();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _context = runtime.enter();
    let mut rows = Vec::new();
    for counting in [Counting::Estimate, Counting::Bytes] {
        for (messages, budget) in [(1_000, 20_000), (10_000, 100_000)] {
            for shape in [Shape::Chat, Shape::Tools, Shape::LongRun] {
                rows.push(contestants::compare(shape, messages, budget, counting, effort));
            }
        }
    }
    table::print(&rows);
    table::write_json(&rows);
}
