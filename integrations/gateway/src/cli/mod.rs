//! Command line of the gateway.

mod args;
mod audit;
mod configuration;
mod demo;
mod health;
mod log;
mod output;
mod reload;
mod serve;
mod stand_in;
#[cfg(feature = "otlp")]
mod telemetry;
#[cfg(not(feature = "otlp"))]
#[path = "no_telemetry.rs"]
mod telemetry;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use args::GatewayArgs;
use clap::{CommandFactory, Parser};

/// Runs the program.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let done = match GatewayArgs::try_parse_from(arguments) {
        // Help and version come as errors, too.
        Err(error) => {
            drop(error.print());
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
        Ok(GatewayArgs { command: Some(command), .. }) => command.run(),
        Ok(GatewayArgs { completions: Some(shell), .. }) => {
            let (mut command, name) = (GatewayArgs::command(), "cupel-gateway");
            // It panics if it cannot write, as on a full disk.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command, name, &mut script);
            output::print(&String::from_utf8_lossy(&script))
        }
        Ok(args) if args.health => health::run(&args),
        Ok(args) if args.demo => serve::on_runtime(demo::run(args.once, args.listen)),
        Ok(args) => serve::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            drop(writeln!(std::io::stderr(), "cupel-gateway: {message}"));
            ExitCode::FAILURE
        }
    }
}
