//! The binary `cupel-gateway`. The README of the crate describes it.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
