//! Runs a cargo command again with the features that this build lacks.

use std::path::Path;
use std::process::{Command, ExitCode};

/// A feature cannot be asked for in the source, so this asks cargo: `verb` is `run` or `bench`,
/// `target` the option that names what to run.
pub(crate) fn with_features(verb: &str, target: [&str; 2], arguments: &[String]) -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([verb, "--quiet"]).args(target).args(["--features", "config,tiktoken"]);
    if let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR") {
        command.arg("--manifest-path").arg(Path::new(&package).join("Cargo.toml"));
    }
    if verb == "run" && !cfg!(debug_assertions) {
        command.arg("--release");
    }
    match command.arg("--").args(arguments).status() {
        Ok(status) => {
            ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
        }
        Err(error) => {
            eprintln!("this needs the features config and tiktoken; cargo did not run: {error}");
            ExitCode::from(2)
        }
    }
}
