//! Runs every conformance vector as a test of its own.
//!
//! `CUPEL_CONFORMANCE_DIR` names the folder of another suite to run as well. Keys the runner does
//! not know are warned about and ignored; with `CUPEL_CONFORMANCE_STRICT` they fail their vector.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::print_stderr)]

mod conformance {
    pub(crate) mod build;
    pub(crate) mod diagnostics;
    pub(crate) mod discover;
    pub(crate) mod document;
    pub(crate) mod pipeline;
    pub(crate) mod placing;
    pub(crate) mod run;
    pub(crate) mod scorers;
    pub(crate) mod scoring;
    pub(crate) mod self_test;
    pub(crate) mod slicers;
    pub(crate) mod slicing;
}

use std::path::{Path, PathBuf};

use conformance::discover::{Vector, vectors};
use conformance::run::{self, UnknownKeys};
use conformance::self_test;
use libtest_mimic::{Arguments, Trial};

fn main() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance");
    let other = std::env::var_os("CUPEL_CONFORMANCE_DIR").filter(|folder| !folder.is_empty());

    let unknown = match std::env::var_os("CUPEL_CONFORMANCE_STRICT") {
        Some(_) => UnknownKeys::Fail,
        None => UnknownKeys::Warn,
    };
    let mut trials = self_test::trials();
    trials.extend(suite("", &own, unknown));
    if let Some(folder) = other.map(PathBuf::from) {
        let name = folder.file_name().map_or("other".into(), |name| name.to_string_lossy());
        trials.extend(suite(&format!("{name}: "), &folder, unknown));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// One trial for each vector below `folder`. Ends the run when there is none: a trial that fails
/// would be left out by a filter, and nothing would have been tested.
fn suite(prefix: &str, folder: &Path, unknown: UnknownKeys) -> Vec<Trial> {
    let found = vectors(folder).unwrap_or_else(|problem| refuse(&problem));
    if found.is_empty() {
        refuse(&format!("no vectors below {}", folder.display()));
    }
    let trial = |Vector { name, path }| {
        Trial::test(format!("{prefix}{name}"), move || {
            Ok(run::file(&path, unknown)
                .map_err(|problem| format!("{}: {problem}", path.display()))?)
        })
    };
    found.into_iter().map(trial).collect()
}

fn refuse(problem: &str) -> ! {
    eprintln!("error: {problem} (another suite is the folder CUPEL_CONFORMANCE_DIR)");
    std::process::exit(1);
}
