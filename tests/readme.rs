//! The README's first example builds as it is displayed: with the dependencies it shows, no more.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::fs;
use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../README.md");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The first fenced block of a language, as a reader would copy it.
fn first_block(language: &str) -> &'static str {
    let (_, rest) = README.split_once(&format!("```{language}\n")).expect("no such block");
    rest.split_once("```\n").expect("an open block").0
}

#[test]
fn the_first_example_builds_as_it_is_displayed() {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    fs::create_dir_all(package.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"first-example\"\nedition = \"2024\"\n\n{}\n\
         [patch.crates-io]\ntower-cupel = {{ path = {ROOT:?} }}\n\n[workspace]\n",
        first_block("toml")
    );
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    fs::write(package.join("src/main.rs"), first_block("rust")).unwrap();
    // The versions that are here already: nothing is downloaded.
    fs::copy(Path::new(ROOT).join("Cargo.lock"), package.join("Cargo.lock")).unwrap();

    let built = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--target-dir"])
        .arg(package.join("target"))
        .current_dir(&package)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert!(!String::from_utf8_lossy(&built.stderr).contains("warning"), "{built:?}");
}
