//! Takes one vector from file to verdict.

use std::path::Path;

use super::build::Failure;
use super::document::{Document, View};
use super::{pipeline, placing, scoring, slicing};

/// Treatment of unknown keys.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum UnknownKeys {
    /// Warn and go on: later versions of the format may add keys.
    Warn,
    /// Fail: such a key is an expectation that nobody has checked.
    Fail,
}

/// Runs the vector in a file; the error says what does not hold.
pub(crate) fn file(path: &Path, unknown: UnknownKeys) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let ignored = vector(&text, unknown)?;
    if !ignored.is_empty() {
        eprintln!("warning: {}: ignored keys: {}", path.display(), ignored.join(", "));
    }
    Ok(())
}

/// Runs a vector; answers with the keys that nobody has read.
pub(crate) fn vector(text: &str, unknown: UnknownKeys) -> Result<Vec<String>, String> {
    let document = Document::parse(text)?;
    let root = document.root();
    let test = Test::read(&root)?;
    match test.stage {
        "scoring" => scoring::run(&test, &root),
        "slicing" => slicing::run(&test, &root),
        "placing" => placing::run(&test, &root),
        "pipeline" => pipeline::run(&test, &root),
        other => Err(format!("test.stage: unknown stage {other:?}")),
    }?;
    let unread = document.unread();
    if unread.is_empty() || unknown == UnknownKeys::Warn {
        return Ok(unread);
    }
    Err(format!("keys this runner cannot honour: {}", unread.join(", ")))
}

/// The `[test]` table.
pub(crate) struct Test<'d> {
    stage: &'d str,
    pub(crate) view: View<'d>,
    expect_construction_error: bool,
    expect_error: Option<&'d str>,
}

impl<'d> Test<'d> {
    fn read(root: &View<'d>) -> Result<Self, String> {
        let view = root.required("test", root.table("test")?)?;
        let name = view.required("name", view.string("name")?)?;
        if name.trim().is_empty() {
            return Err("test.name is empty".to_owned());
        }
        Ok(Self {
            stage: view.required("stage", view.string("stage")?)?,
            expect_construction_error: view.boolean("expect_construction_error")?.unwrap_or(false),
            expect_error: expected_error(&view)?,
            view,
        })
    }

    /// Returns the built value, or none if the vector wanted building to fail and it did.
    pub(crate) fn built<T>(&self, built: Result<T, Failure>) -> Result<Option<T>, String> {
        match (built, self.expect_construction_error) {
            (Ok(_), true) => Err("expected a construction error, but it was built".to_owned()),
            (Ok(built), false) => Ok(Some(built)),
            (Err(Failure::RefusedItem(_)), true) => Ok(None),
            (Err(Failure::RefusedItem(error)), false) => {
                Err(format!("construction failed: {error}"))
            }
            (Err(Failure::Vector(problem)), _) => Err(problem),
        }
    }

    /// The outcome, or nothing when the vector wanted this error.
    pub(crate) fn outcome<T>(
        &self,
        outcome: Result<T, cupel::CupelError>,
    ) -> Result<Option<T>, String> {
        match (outcome, self.expect_error) {
            (Ok(_), Some(expected)) => Err(format!("expected the error {expected:?}, got none")),
            (Ok(outcome), None) => Ok(Some(outcome)),
            (Err(error), None) => Err(format!("failed: {error}")),
            (Err(error), Some(expected)) if error.to_string().contains(expected) => Ok(None),
            (Err(error), Some(expected)) => {
                Err(format!("expected the error {expected:?}, got \"{error}\""))
            }
        }
    }
}

/// Part of the text of the error that has to come; `true` means any.
fn expected_error<'d>(view: &View<'d>) -> Result<Option<&'d str>, String> {
    match view.boolean("expect_error") {
        Ok(expected) => Ok(expected.filter(|expected| *expected).map(|_| "")),
        Err(_) => view.string("expect_error"),
    }
}

/// Compares two lists and shows both when they differ.
pub(crate) fn same_list(what: &str, expected: &[&str], actual: &[&str]) -> Result<(), String> {
    if expected == actual {
        return Ok(());
    }
    Err(format!("{what}: expected {expected:?}, got {actual:?}"))
}

/// Compares two scores within a tolerance.
pub(crate) fn same_score(
    what: &str,
    expected: f64,
    actual: f64,
    epsilon: f64,
) -> Result<(), String> {
    if (actual - expected).abs() < epsilon {
        return Ok(());
    }
    Err(format!("{what}: expected {expected}, got {actual} (tolerance {epsilon})"))
}

/// The tolerance for scores that the vector sets, or the default.
pub(crate) fn epsilon(root: &View<'_>) -> Result<f64, String> {
    let tolerance = root.table("tolerance")?;
    let epsilon = tolerance.map(|table| table.float("score_epsilon")).transpose()?.flatten();
    Ok(epsilon.unwrap_or(1e-9))
}
