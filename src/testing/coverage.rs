//! The assertion about how many kinds were selected.

use super::chain::or_panic;
use super::{Outcome, SelectionReportAssertionChain, SelectionReportAssertionError, text};

#[allow(clippy::must_use_candidate)] // the last assertion of a chain ends a statement
impl<'a> SelectionReportAssertionChain<'a> {
    /// The included items have at least `n` different kinds; 0 always holds.
    ///
    /// # Panics
    ///
    /// When they have fewer.
    #[track_caller]
    pub fn have_kind_coverage_count(self, n: usize) -> Self {
        or_panic(self.try_have_kind_coverage_count(n))
    }

    /// As [`have_kind_coverage_count`](Self::have_kind_coverage_count), but returns the failure.
    ///
    /// # Errors
    ///
    /// When the included items have fewer kinds.
    pub fn try_have_kind_coverage_count(self, n: usize) -> Outcome<'a> {
        let kinds = text::distinct_kinds(&self.report.included);
        let actual = kinds.len();
        if actual >= n {
            return Ok(self);
        }
        let kinds = text::list(kinds);
        Err(SelectionReportAssertionError::new(
            "HaveKindCoverageCount",
            format_args!(
                "({n}) failed: expected at least {n} distinct ContextKind values in Included, \
                 but found {actual}: [{kinds}]."
            ),
        ))
    }
}
