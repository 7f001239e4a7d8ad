//! The binary `cupel-gateway`: see the crate's README.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
