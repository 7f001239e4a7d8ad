//! Assertions about what was selected, how much of the budget it takes, and where it was placed.
//!
//! Those about places say something only about a placer whose order is known. A
//! [`UShapedPlacer`](crate::UShapedPlacer) puts the highest score first and the second highest
//! last.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::iter;

use super::chain::assertions;
use super::text;
use crate::analytics::budget_utilization;
use crate::diagnostics::{IncludedItem, SelectionReport};
use crate::model::{ContextBudget, ContextKind};
use crate::order;

fn included_of_kind(report: &SelectionReport, kind: &ContextKind) -> usize {
    report.included.iter().filter(|included| included.item.kind() == kind).count()
}

assertions! {
    /// At least one included item has this kind.
    "IncludeItemWithKind": include_item_with_kind, try_include_item_with_kind
    |report, kind: impl Borrow<ContextKind>| {
        let kind = kind.borrow();
        if included_of_kind(report, kind) > 0 {
            return None;
        }
        let included = &report.included;
        let (count, kinds) = (included.len(), text::list(text::distinct_kinds(included)));
        Some(format!(
            "({kind}) failed: Included contained 0 items with Kind={kind}. \
             Included had {count} items with kinds: [{kinds}]."
        ))
    }

    /// At least one included item satisfies the predicate. The message ends with a summary of the
    /// first five included items.
    ///
    /// The predicate gets an [`IncludedItem`], which has the item's score and reason beside the item.
    /// The specification gives [`ContextItem`](crate::ContextItem)s to the predicate of
    /// [`exclude_item_matching_with_reason`](Self::exclude_item_matching_with_reason), because the
    /// reason is an argument of its own there.
    "IncludeItemMatching": include_item_matching, try_include_item_matching
    |report, predicate: impl FnMut(&IncludedItem) -> bool| {
        let included = &report.included;
        if included.iter().any(predicate) {
            return None;
        }
        let (count, summary) = (included.len(), text::summary(included));
        Some(format!(
            " failed: no item in Included matched the predicate. Included had {count} items.{summary}"
        ))
    }

    /// Exactly `n` included items have this kind; 0 says that none has.
    "IncludeExactlyNItemsWithKind":
    include_exactly_n_items_with_kind, try_include_exactly_n_items_with_kind
    |report, kind: impl Borrow<ContextKind>, n: usize| {
        let kind = kind.borrow();
        let (actual, count) = (included_of_kind(report, kind), report.included.len());
        (actual != n).then(|| {
            format!(
                "({kind}, {n}) failed: expected {n} items with Kind={kind} in Included, \
                 but found {actual}. Included had {count} items total."
            )
        })
    }

    /// The included items have at least `n` different kinds; 0 always holds.
    "HaveKindCoverageCount": have_kind_coverage_count, try_have_kind_coverage_count
    |report, n: usize| {
        let kinds = text::distinct_kinds(&report.included);
        let actual = kinds.len();
        (actual < n).then(|| {
            let kinds = text::list(kinds);
            format!(
                "({n}) failed: expected at least {n} distinct ContextKind values in Included, \
                 but found {actual}: [{kinds}]."
            )
        })
    }

    /// The included items use at least this part of the budget's `max_tokens`.
    ///
    /// The threshold itself passes. The comparison is exact, so pick a threshold away from the
    /// value to be expected: 0.799 rather than 0.8.
    "HaveBudgetUtilizationAbove":
    have_budget_utilization_above, try_have_budget_utilization_above
    |report, threshold: f64, budget: &ContextBudget| {
        let actual = budget_utilization(report, budget);
        if actual >= threshold {
            return None;
        }
        let tokens = report.included.iter().map(|included| included.item.tokens());
        let (tokens, max_tokens) = (tokens.fold(0, i64::saturating_add), budget.max_tokens());
        Some(format!(
            "({threshold}) failed: computed utilization was {actual:.6} \
             (includedTokens={tokens}, budget.MaxTokens={max_tokens})."
        ))
    }

    /// The first or the last included item satisfies the predicate. The message tells where the
    /// first match is, if there is one.
    "PlaceItemAtEdge": place_item_at_edge, try_place_item_at_edge
    |report, predicate: impl FnMut(&IncludedItem) -> bool| {
        let (count, last) = (report.included.len(), report.included.len().saturating_sub(1));
        let matches: Vec<bool> = report.included.iter().map(predicate).collect();
        if matches.first() == Some(&true) || matches.last() == Some(&true) {
            return None;
        }
        Some(match matches.iter().position(|matches| *matches) {
            Some(actual) => format!(
                " failed: item matching predicate was at index {actual} (not at edge). \
                 Edge positions: 0 and {last}. Included had {count} items."
            ),
            None => " failed: no item in Included matched the predicate.".to_owned(),
        })
    }

    /// The `n` best included items are at the `n` outermost positions: 0, last, 1, last − 1, ….
    ///
    /// Their order among these positions does not matter, and any of the items that tie for the `n`-th
    /// place will do. If `n` is the number of included items, every position is outermost, and the
    /// order counts instead: scores may not rise from the edges inward. If `n` is larger, the
    /// assertion does not hold.
    "PlaceTopNScoredAtEdges": place_top_n_scored_at_edges, try_place_top_n_scored_at_edges
    |report, n: usize| {
        let inward: Vec<EdgePlace<'_>> = from_the_edges_inward(&report.included).collect();
        let mut ranked = inward.clone();
        // Stable: of equal scores the outermost comes first, so a tie never counts as a failure.
        ranked.sort_by_key(EdgePlace::rank_key);
        let (misplaced, details) = match n.cmp(&inward.len()) {
            Ordering::Less => {
                let elsewhere = ranked.iter().take(n).filter(|placed| placed.depth >= n);
                (elsewhere.count(), String::new())
            }
            Ordering::Equal => {
                let pairs = inward.iter().zip(&ranked);
                let scores = text::list(inward.iter().map(|placed| placed.included.score));
                (
                    pairs.filter(|(placed, best)| placed.rank_key() != best.rank_key()).count(),
                    format!(" Scores must not rise from the edges inward, but were [{scores}]."),
                )
            }
            Ordering::Greater => {
                let count = inward.len();
                (n - count, format!(" Included had only {count} items, but n was {n}."))
            }
        };
        if misplaced == 0 {
            return None;
        }
        let items = text::list(ranked.iter().take(n).map(EdgePlace::describe));
        let positions = text::list(inward.iter().take(n).map(|placed| placed.index));
        Some(format!(
            "({n}) failed: {misplaced} of the top-{n} scored items were not at expected edge \
             positions. Top-{n} items (by score): [{items}]. \
             Expected edge positions: [{positions}].{details}"
        ))
    }
}

/// An included item and its place, counted from the edges.
#[derive(Clone)]
struct EdgePlace<'a> {
    /// Its place on the way 0, last, 1, last − 1, ….
    depth: usize,
    index: usize,
    included: &'a IncludedItem,
}

impl EdgePlace<'_> {
    fn rank_key(&self) -> u64 {
        order::descending(self.included.score)
    }

    fn describe(&self) -> String {
        let IncludedItem { item, score, .. } = self.included;
        format!("(kind={}, score={score}, idx={})", item.kind(), self.index)
    }
}

fn from_the_edges_inward(included: &[IncludedItem]) -> impl Iterator<Item = EdgePlace<'_>> {
    let mut rest = included.iter().enumerate();
    let mut from_left = false;
    let alternating = iter::from_fn(move || {
        from_left = !from_left;
        if from_left { rest.next() } else { rest.next_back() }
    });
    alternating.enumerate().map(|(depth, (index, included))| EdgePlace { depth, index, included })
}
