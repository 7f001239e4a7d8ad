//! The chain that carries a report from one assertion to the next.

use super::Outcome;
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
    #[must_use]
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
