//! The programs of the README build as they are displayed. The READMEs of the integrations show all
//! dependencies of their programs.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const README: &str = include_str!("../README.md");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Most lines of a program of the README.
const MOST_LINES: usize = 15;

/// The folder of one of our packages: in the repository, or unpacked from its archive in the folder
/// `CUPEL_PACKAGES`, as `dev/release/archives` asks for.
fn own_package(suffix: &str) -> PathBuf {
    match (std::env::var_os("CUPEL_PACKAGES"), suffix.strip_prefix('-')) {
        (Some(folder), _) => {
            let version = env!("CARGO_PKG_VERSION");
            Path::new(&folder).join(format!("tower-cupel{suffix}-{version}"))
        }
        (None, Some(integration)) => Path::new(ROOT).join("integrations").join(integration),
        (None, None) => ROOT.into(),
    }
}

/// Builds a program outside the workspace, with these dependencies and the project's own packages.
fn build(name: &str, dependencies: &str, program: &str) {
    let lines = program.lines().filter(|line| !line.is_empty()).count();
    assert!(lines <= MOST_LINES, "{name}: {lines} lines");

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let package = folder.join(name);
    fs::create_dir_all(package.join("src")).unwrap();
    let patches: String = ["", "-json", "-async-openai"]
        .iter()
        .map(|suffix| format!("tower-cupel{suffix} = {{ path = {:?} }}\n", own_package(suffix)))
        .collect();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n{dependencies}\n\
         [patch.crates-io]\n{patches}\n[workspace]\n",
    );
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    fs::write(package.join("src/main.rs"), program).unwrap();
    // The versions that are here already: nothing is downloaded.
    fs::copy(Path::new(ROOT).join("Cargo.lock"), package.join("Cargo.lock")).unwrap();

    let built = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--target-dir"])
        .arg(folder.join("readme-target"))
        .current_dir(&package)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{errors}");
    let warnings = errors.lines().filter(|line| line.starts_with("warning"));
    // A program may use fewer packages than there are patches.
    let own = warnings.filter(|line| !line.contains("was not used in the crate graph"));
    assert_eq!(own.count(), 0, "{errors}");
}

#[test]
fn the_program_with_async_openai_builds_as_it_is_displayed() {
    let dependencies = blocks(README, "toml")[0];
    // The default is TLS, whose packages are not among those of the workspace.
    let without_tls = dependencies.replace("\"0.43\", ", "\"0.43\", default-features = false, ");
    assert_ne!(without_tls, dependencies);
    build("async-openai-chat", &without_tls, blocks(README, "rs")[0]);
}

#[test]
fn the_program_that_trims_a_chat_request_builds_as_it_is_displayed() {
    let dependencies = "[dependencies]\ntower-cupel = \"0.1\"\ntower-cupel-json = \"0.1\"\n\
        tokio = { version = \"1\", features = [\"macros\", \"rt\"] }\n";
    build("trim-chat", dependencies, blocks(README, "rs")[1]);
}

/// The blocks of a language in a README.
fn blocks<'a>(readme: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("```{language}\n");
    let blocks = readme.split(opening.as_str()).skip(1);
    blocks.filter_map(|rest| Some(rest.split_once("```")?.0)).collect()
}

/// The package of a library that an example names.
fn package(library: &str) -> String {
    let package = library.replace('_', "-");
    match package.split_once('-') {
        _ if package == "cupel" => "tower-cupel".to_owned(),
        Some(("cupel", name)) => format!("tower-cupel-{name}"),
        _ => package,
    }
}

/// The libraries whose names stand in the lines that a reader sees.
fn libraries(example: &str) -> impl Iterator<Item = &str> {
    let lines = example.lines().map(str::trim).filter(|line| !line.starts_with("# "));
    let used = lines.filter_map(|line| line.strip_prefix("use ")?.split([':', ';', ' ']).next());
    used.filter(|name| !["std", "crate", "self", "super"].contains(name))
}

#[test]
fn the_readmes_of_the_integrations_show_what_their_examples_need() {
    let mut checked = 0;
    for folder in fs::read_dir(Path::new(ROOT).join("integrations")).unwrap() {
        let path = folder.unwrap().path().join("README.md");
        let Ok(readme) = fs::read_to_string(&path) else { continue };
        let shown = blocks(&readme, "toml");
        let Some(shown) = shown.iter().find(|block| block.contains("[dependencies]")) else {
            continue;
        };
        let shown: toml::Table = shown.parse().unwrap();
        checked += 1;
        for library in blocks(&readme, "rust").into_iter().flat_map(libraries) {
            let package = package(library);
            let is_shown = shown["dependencies"].get(&package).is_some();
            assert!(is_shown, "{}: an example uses {package}", path.display());
        }
    }
    assert!(checked >= 3, "{checked}");
}
