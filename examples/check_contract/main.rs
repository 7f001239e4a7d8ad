//! Checks the budget contracts of a folder, and shows where the tokens go.
//!
//! `cargo run --features config,tiktoken --example check_contract -- examples/contract/good` prints
//! a table for each pipeline and ends with code 0 if every step fits its model's window, with 1 if
//! anything is wrong, and with 2 if it was not called like that. The tokens of a known model are
//! counted exactly.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::Write;
use std::process::ExitCode;

mod bars;
mod report;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [folder] = &*arguments else {
        eprintln!("usage: check_contract FOLDER");
        return ExitCode::from(2);
    };
    let report = report::check(std::path::Path::new(folder));
    // Whoever reads this through a pipe may have read enough.
    let _ = std::io::stdout().write_all(report.text.as_bytes());
    if report.holds { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
