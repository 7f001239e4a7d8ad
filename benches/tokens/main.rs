//! Savings of the caches: counting the messages of a second turn, and checking a contract again.
//!
//! `cargo bench --features config,tiktoken --bench tokens` prints one table; every ratio in it is
//! measured in the same run, by medians of alternating rounds. It fails if the second turn over the
//! same thousand messages is less than fifty times faster than the first.
//!
//! With feature `tokenizers` it also counts by a tokenizer file: one that is trained on its texts, or the one in
//! `CUPEL_TOKENIZER`. It fails if a warm turn takes more than 1.1 times as long as with OpenAI's encoding.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

use std::process::ExitCode;

mod cases;
#[cfg(feature = "tokenizers")]
mod tokenizer;

fn main() -> ExitCode {
    // `cargo test --benches` asks a bench to run as a test: then only see that it works.
    cases::run(std::env::args().any(|argument| argument == "--bench"))
}
