//! Checks the budget contracts of a folder, and shows where the tokens go.
//!
//! `cargo run --example check_contract -- examples/contract/good` prints a table for each pipeline
//! and ends with code 0 if every step fits its model's window, with 1 if anything is wrong, and
//! with 2 if it was not called like that.
//!
//! It needs feature `config`; with `tiktoken` as well, the tokens of a known model are counted
//! exactly. Built without them, it builds and runs itself again with both.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

#[cfg(not(feature = "config"))]
mod again;
#[cfg(feature = "config")]
mod bars;
#[cfg(feature = "config")]
mod report;

#[cfg(feature = "config")]
fn main() -> ExitCode {
    use std::io::Write;

    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [folder] = &*arguments else {
        eprintln!("usage: cargo run --example check_contract -- FOLDER");
        return ExitCode::from(2);
    };
    let report = report::check(std::path::Path::new(folder));
    // Whoever reads this through a pipe may have read enough.
    let _ = std::io::stdout().write_all(report.text.as_bytes());
    if report.holds { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

#[cfg(not(feature = "config"))]
fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    again::with_features("run", ["--example", "check_contract"], &arguments)
}
