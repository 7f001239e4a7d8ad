//! The command line: what is asked for, and what is said back.

mod args;
mod demo;
mod log;
mod serve;
#[cfg(feature = "otlp")]
mod telemetry;
#[cfg(not(feature = "otlp"))]
#[path = "no_telemetry.rs"]
mod telemetry;
mod token;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use args::{Args, Asked};

/// Does what the arguments say.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let done = match Args::parse(arguments) {
        Ok(Asked::Help) => {
            say(args::HELP);
            Ok(())
        }
        Ok(Asked::Version) => {
            say(concat!("cupel-gateway ", env!("CARGO_PKG_VERSION"), "\n"));
            Ok(())
        }
        Ok(Asked::Run(args)) => serve::run(args),
        Err(message) => Err(format!("{message}\ntry cupel-gateway --help")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            drop(writeln!(std::io::stderr(), "cupel-gateway: {message}"));
            ExitCode::FAILURE
        }
    }
}

/// Says something to whoever started it. A closed terminal is no reason to stop.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}
