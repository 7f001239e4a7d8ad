//! Assertions about the list of exclusions as a whole.

use super::assertions::assertions;
use crate::order;

assertions! {
    /// At least `n` items were excluded; 0 always holds.
    "HaveAtLeastNExclusions": have_at_least_n_exclusions, try_have_at_least_n_exclusions
    |report, n: usize| {
        let actual = report.excluded.len();
        (actual < n).then(|| {
            format!(
                "({n}) failed: expected at least {n} excluded items, but Excluded had {actual}."
            )
        })
    }

    /// No excluded item scores higher than the one before it; the message tells the first that
    /// does.
    ///
    /// Every report of a [`Pipeline`](crate::Pipeline) keeps this order, with NaN after every
    /// number. Reports built by hand or by another implementation may not.
    "ExcludedItemsAreSortedByScoreDescending":
    excluded_items_are_sorted_by_score_descending,
    try_excluded_items_are_sorted_by_score_descending
    |report| {
        let excluded = &report.excluded;
        let mut neighbours = excluded.iter().zip(excluded.iter().skip(1)).enumerate();
        // Not `>`: NaN has its place at the end, where `>=` would find it in disorder.
        let rising = neighbours.find(|(_, (item, next))| {
            order::descending(next.score) < order::descending(item.score)
        });
        rising.map(|(index, (item, next))| {
            format!(
                " failed: item at index {} (score={}) is higher than item at index {index} \
                 (score={}). Expected non-increasing scores.",
                index + 1,
                next.score,
                item.score,
            )
        })
    }
}
