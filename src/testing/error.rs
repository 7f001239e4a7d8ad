//! The failure of an assertion.

/// Says which assertion about a report failed, what it expected and what it found.
///
/// The `try_` forms return it; the other forms panic with its text.
///
/// ```
/// use cupel::SelectionReport;
///
/// let report = SelectionReport::default();
/// let failure = report.should().try_have_at_least_n_exclusions(1).unwrap_err();
/// assert_eq!(failure.assertion(), "HaveAtLeastNExclusions");
/// assert_eq!(
///     failure.to_string(),
///     "HaveAtLeastNExclusions(1) failed: expected at least 1 excluded items, but Excluded had 0.",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SelectionReportAssertionError {
    assertion: &'static str,
    message: String,
}

impl SelectionReportAssertionError {
    /// `problem` is the message after the assertion's name.
    pub(super) fn new(assertion: &'static str, problem: &str) -> Self {
        Self { assertion, message: format!("{assertion}{problem}") }
    }

    /// The assertion's name in the testing vocabulary, such as `IncludeItemWithKind`.
    #[must_use]
    pub fn assertion(&self) -> &str {
        self.assertion
    }

    /// The whole message, as it is displayed.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}
