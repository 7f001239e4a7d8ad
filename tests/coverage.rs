//! Checks that the coverage page names only what exists, and everything that does.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page() -> String {
    std::fs::read_to_string(root().join("conformance/COVERAGE.md")).unwrap()
}

/// The rows that state a rule: below a header's ruler, until the table ends.
fn rules(page: &str) -> Vec<&str> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    rows.filter(|line| !line.starts_with("| Rule |") && !line.starts_with("| ---")).collect()
}

/// The names in a row's right column.
fn names(row: &str) -> Vec<&str> {
    let checks = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap();
    checks.split('`').skip(1).step_by(2).collect()
}

fn files(folder: &str, extension: &str) -> BTreeSet<String> {
    fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, extension, found);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(folder), extension, &mut found);
    let name = |path: PathBuf| {
        let below = path.strip_prefix(root()).unwrap();
        below.iter().map(|part| part.to_str().unwrap()).collect::<Vec<_>>().join("/")
    };
    found.into_iter().map(name).collect()
}

/// The `#[test]` functions of a file.
fn tests(file: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    let after_attribute = text.split("#[test]").skip(1);
    after_attribute
        .map(|rest| rest.split("fn ").nth(1).unwrap().split('(').next().unwrap().to_owned())
        .collect()
}

#[test]
fn every_rule_names_what_checks_it() {
    let page = page();
    let rules = rules(&page);
    assert!(rules.len() > 200, "only {} rules were found", rules.len());
    for row in rules {
        assert!(!names(row).is_empty(), "no vector and no test in: {row}");
    }
}

#[test]
fn every_name_exists() {
    let page = page();
    let vectors = files("conformance", "toml");
    for name in rules(&page).into_iter().flat_map(names) {
        match name.split_once("::") {
            Some((file, function)) => {
                let path = format!("tests/{file}");
                assert!(root().join(&path).is_file(), "{path} does not exist");
                assert!(tests(&path).contains(function), "no test {function} in {path}");
            }
            None => assert!(vectors.contains(name), "{name} does not exist"),
        }
    }
}

#[test]
fn every_vector_is_named() {
    let page = page();
    let named: BTreeSet<&str> = rules(&page).into_iter().flat_map(names).collect();
    let vectors = files("conformance", "toml");
    assert!(!vectors.is_empty());
    let missing: Vec<_> = vectors.iter().filter(|name| !named.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "not on the page: {missing:#?}");
}

#[test]
fn every_spec_rule_test_is_named() {
    let page = page();
    let named: BTreeSet<&str> = rules(&page).into_iter().flat_map(names).collect();
    let mut missing = Vec::new();
    for file in files("tests/spec_rules", "rs") {
        let short = file.trim_start_matches("tests/");
        let functions = tests(&file).into_iter().map(|function| format!("{short}::{function}"));
        missing.extend(functions.filter(|name| !named.contains(name.as_str())));
    }
    assert!(missing.is_empty(), "not on the page: {missing:#?}");
}
