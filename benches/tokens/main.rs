//! What the caches save: counting the messages of a second turn, and checking a contract again.
//!
//! `cargo bench --bench tokens` prints one table; every ratio in it is measured in the same run,
//! by medians of alternating rounds. It fails if the second turn over the same thousand messages
//! is less than fifty times faster than the first.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

use std::process::ExitCode;

#[cfg(not(all(feature = "config", feature = "tiktoken")))]
#[path = "../../examples/check_contract/again.rs"]
mod again;
#[cfg(all(feature = "config", feature = "tiktoken"))]
mod cases;

#[cfg(all(feature = "config", feature = "tiktoken"))]
fn main() -> ExitCode {
    cases::run(is_bench())
}

#[cfg(not(all(feature = "config", feature = "tiktoken")))]
fn main() -> ExitCode {
    if is_bench() {
        again::with_features("bench", ["--bench", "tokens"], &[])
    } else {
        ExitCode::SUCCESS
    }
}

/// `cargo test --benches` asks a bench to run as a test: then only see that it works.
fn is_bench() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}
