//! Assertions about the list of exclusions as a whole.

use super::chain::or_panic;
use super::{Outcome, SelectionReportAssertionChain, SelectionReportAssertionError};
use crate::order;

#[allow(clippy::must_use_candidate)] // the last assertion of a chain ends a statement
impl<'a> SelectionReportAssertionChain<'a> {
    /// At least `n` items were excluded; 0 always holds.
    ///
    /// # Panics
    ///
    /// When fewer were.
    #[track_caller]
    pub fn have_at_least_n_exclusions(self, n: usize) -> Self {
        or_panic(self.try_have_at_least_n_exclusions(n))
    }

    /// As [`have_at_least_n_exclusions`](Self::have_at_least_n_exclusions), but returns the
    /// failure.
    ///
    /// # Errors
    ///
    /// When fewer items were excluded.
    pub fn try_have_at_least_n_exclusions(self, n: usize) -> Outcome<'a> {
        let actual = self.report.excluded.len();
        if actual >= n {
            return Ok(self);
        }
        Err(SelectionReportAssertionError::new(
            "HaveAtLeastNExclusions",
            format_args!(
                "({n}) failed: expected at least {n} excluded items, but Excluded had {actual}."
            ),
        ))
    }

    /// No excluded item scores higher than the one before it.
    ///
    /// Every report of a [`Pipeline`](crate::Pipeline) keeps this order, with NaN after every
    /// number. Reports built by hand or by another implementation may not.
    ///
    /// # Panics
    ///
    /// When one does; the message tells the first.
    #[track_caller]
    pub fn excluded_items_are_sorted_by_score_descending(self) -> Self {
        or_panic(self.try_excluded_items_are_sorted_by_score_descending())
    }

    /// As [`excluded_items_are_sorted_by_score_descending`], but returns the failure.
    ///
    /// # Errors
    ///
    /// When an excluded item scores higher than the one before it.
    ///
    /// [`excluded_items_are_sorted_by_score_descending`]:
    ///     Self::excluded_items_are_sorted_by_score_descending
    pub fn try_excluded_items_are_sorted_by_score_descending(self) -> Outcome<'a> {
        let excluded = &self.report.excluded;
        let mut neighbours = excluded.iter().zip(excluded.iter().skip(1)).enumerate();
        let rising = neighbours.find(|(_, (item, next))| {
            // Not `>`: NaN has its place at the end, where `>=` would find it in disorder.
            order::descending(next.score) < order::descending(item.score)
        });
        let Some((index, (item, next))) = rising else {
            return Ok(self);
        };
        Err(SelectionReportAssertionError::new(
            "ExcludedItemsAreSortedByScoreDescending",
            format_args!(
                " failed: item at index {} (score={}) is higher than item at index {index} \
                 (score={}). Expected non-increasing scores.",
                index + 1,
                next.score,
                item.score,
            ),
        ))
    }
}
