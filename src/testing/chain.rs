//! The chain that carries a report from one assertion to the next, the failure of an assertion, and
//! one definition for both of its forms: the one that panics and its `try_` form.

use crate::diagnostics::SelectionReport;

/// Assertions over one report, to be called one after the other.
///
/// [`SelectionReport::should`] starts it. Each assertion returns the chain unchanged when it holds
/// and panics when it does not; its `try_` form returns the failure instead.
#[derive(Debug, Clone, Copy)]
pub struct SelectionReportAssertionChain<'a> {
    pub(super) report: &'a SelectionReport,
}

impl<'a> SelectionReportAssertionChain<'a> {
    /// The report under test.
    pub fn report(self) -> &'a SelectionReport {
        self.report
    }
}

impl SelectionReport {
    /// Starts a chain of assertions about this report.
    ///
    /// ```
    /// use cupel::SelectionReport;
    ///
    /// let nothing = SelectionReport::default();
    /// nothing.should().have_at_least_n_exclusions(0).place_top_n_scored_at_edges(0);
    /// ```
    #[must_use = "the chain asserts nothing by itself"]
    pub fn should(&self) -> SelectionReportAssertionChain<'_> {
        SelectionReportAssertionChain { report: self }
    }
}

/// Turns a failure into a panic at the line of the user's test.
// An assertion exists to end the test that calls it: the one place where a panic is the answer.
#[allow(clippy::panic)]
#[track_caller]
pub(super) fn or_panic(outcome: Outcome<'_>) -> SelectionReportAssertionChain<'_> {
    match outcome {
        Ok(chain) => chain,
        Err(failure) => panic!("{failure}"),
    }
}

/// Result of the `try_` form of an assertion.
pub(super) type Outcome<'a> =
    Result<SelectionReportAssertionChain<'a>, SelectionReportAssertionError>;

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
    pub fn assertion(&self) -> &str {
        self.assertion
    }

    /// The whole message, as it is displayed.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Defines assertions over a report.
///
/// The body answers `None` when the assertion holds, or else the message that follows its name.
macro_rules! assertions {
    ($(
        $(#[$doc:meta])*
        $title:literal: $name:ident, $try_name:ident $(<$life:lifetime>)?
        |$report:ident $(, $arg:ident: $type:ty)*| $body:block
    )+) => {
        #[allow(clippy::must_use_candidate)] // the last assertion of a chain ends a statement
        impl<'a> super::SelectionReportAssertionChain<'a> {
            $(
                $(#[$doc])*
                ///
                /// # Panics
                ///
                /// Panics when it does not hold.
                #[track_caller]
                pub fn $name $(<$life>)? (self $(, $arg: $type)*) -> Self {
                    super::chain::or_panic(self.$try_name($($arg),*))
                }

                #[doc = concat!(
                    "As [`", stringify!($name), "`](Self::", stringify!($name),
                    "), but returns the failure."
                )]
                ///
                /// # Errors
                ///
                /// Returns the failure when it does not hold.
                pub fn $try_name $(<$life>)? (self $(, $arg: $type)*) -> super::chain::Outcome<'a> {
                    let $report = self.report;
                    let check = || -> Option<String> { $body };
                    match check() {
                        None => Ok(self),
                        Some(problem) => {
                            Err(super::SelectionReportAssertionError::new($title, &problem))
                        }
                    }
                }
            )+
        }
    };
}

pub(super) use assertions;
