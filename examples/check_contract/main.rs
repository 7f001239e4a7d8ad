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

/// A feature cannot be asked for in the source, so this asks cargo.
#[cfg(not(feature = "config"))]
fn main() -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = std::process::Command::new(cargo);
    command.args([
        "run",
        "--quiet",
        "--example",
        "check_contract",
        "--features",
        "config,tiktoken",
    ]);
    if let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR") {
        command.arg("--manifest-path").arg(std::path::Path::new(&package).join("Cargo.toml"));
    }
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    match command.arg("--").args(std::env::args_os().skip(1)).status() {
        Ok(status) => {
            ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
        }
        Err(error) => {
            eprintln!("this needs `--features config`, and cargo could not be run: {error}");
            ExitCode::from(2)
        }
    }
}
