//! Fitting a rig history to a window: this crate against `rig-memory`'s `TokenWindowMemory`.
//!
//! `cargo bench -p tower-cupel-rig` prints one table and writes it to `rig.json` in the target
//! folder. Both get the same histories, the same budget and the same counter, and take turns in
//! one run; times are medians. `-- --quick` takes fewer samples.
//!
//! Both prefer what is recent. `TokenWindowMemory` walks back from the newest message and stops at
//! the first one that does not fit. Ours takes the request apart, scores, selects, and puts it
//! together, behind the layer as an agent would have it.

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

use history::Shape;
use measure::Effort;

fn main() {
    // `cargo test --benches` asks a bench to run as a test: then only see that it works.
    let arguments: Vec<String> = std::env::args().collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let effort = if has("--test") {
        Effort::Smoke
    } else if has("--quick") {
        Effort::Quick
    } else {
        Effort::Full
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _context = runtime.enter();
    let mut rows = Vec::new();
    for (messages, budget) in [(1_000, 20_000), (10_000, 100_000)] {
        for shape in [Shape::Chat, Shape::Tools, Shape::LongRun] {
            rows.extend(contestants::compare(shape, messages, budget, effort));
        }
    }
    table::print(&rows);
    table::write_json(&rows);
}
