//! Assertions about what was selected, how much of the budget it takes, where it was placed, and what was
//! left out and why.
//!
//! Those about places say something only about a placer whose order is known. A
//! [`UShapedPlacer`](crate::placer::UShapedPlacer) puts the highest score first and the second highest
//! last.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::iter;

use super::chain::assertions;
use super::{ReasonKind, text};
use crate::analytics::budget_utilization;
use crate::diagnostics::{ExcludedItem, ExclusionReason, IncludedItem, SelectionReport};
use crate::model::{ContextBudget, ContextItem, ContextKind, descending_key};

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
    /// The specification gives [`ContextItem`]s to the predicate of
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
        descending_key(self.included.score)
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

fn excluded_matching(
    report: &SelectionReport,
    mut predicate: impl FnMut(&ContextItem) -> bool,
) -> Vec<&ExcludedItem> {
    report.excluded.iter().filter(|excluded| predicate(&excluded.item)).collect()
}

assertions! {
    /// At least one excluded item has a reason of this variant.
    ///
    /// ```
    /// # use cupel::{ContextItem, SelectionReport};
    /// # use cupel::diagnostics::{ExcludedItem, ExclusionReason};
    /// use cupel::testing::ReasonKind;
    ///
    /// # let item = ContextItem::new("a long log", 400)?;
    /// # let reason = ExclusionReason::BudgetExceeded { item_tokens: 400, available_tokens: 50 };
    /// # let excluded = vec![ExcludedItem::new(item, 0.5, reason)];
    /// # let report = SelectionReport::new(vec![], vec![], excluded, vec![]);
    /// report.should().exclude_item_with_reason(ReasonKind::BudgetExceeded);
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    "ExcludeItemWithReason": exclude_item_with_reason, try_exclude_item_with_reason<'r>
    |report, reason: impl Into<ReasonKind<'r>>| {
        let reason = reason.into();
        let reasons = text::distinct_reasons(&report.excluded);
        if reasons.contains(&reason) {
            return None;
        }
        let (count, reasons) = (report.excluded.len(), text::list(reasons));
        Some(format!(
            "({reason}) failed: no excluded item had reason {reason}. \
             Excluded had {count} items with reasons: [{reasons}]."
        ))
    }

    /// At least one excluded item satisfies the predicate and has a reason of this variant. The
    /// message tells a predicate that matched nothing from items that were left out for other
    /// reasons.
    ///
    /// The predicate gets a [`ContextItem`]; that of
    /// [`include_item_matching`](Self::include_item_matching) gets an
    /// [`IncludedItem`].
    "ExcludeItemMatchingWithReason":
    exclude_item_matching_with_reason, try_exclude_item_matching_with_reason<'r>
    |report, predicate: impl FnMut(&ContextItem) -> bool, reason: impl Into<ReasonKind<'r>>| {
        let reason = reason.into();
        let matched = excluded_matching(report, predicate);
        let reasons = text::distinct_reasons(matched.iter().copied());
        if reasons.contains(&reason) {
            return None;
        }
        let (count, reasons) = (matched.len(), text::list(reasons));
        Some(format!(
            "(reason={reason}) failed: predicate matched {count} excluded item(s) \
             but none had reason {reason}. Matched items had reasons: [{reasons}]."
        ))
    }

    /// An excluded item satisfies the predicate and has
    /// [`BudgetExceeded`](ExclusionReason::BudgetExceeded) with exactly these token counts.
    "ExcludeItemWithBudgetDetails":
    exclude_item_with_budget_details, try_exclude_item_with_budget_details
    |
        report,
        predicate: impl FnMut(&ContextItem) -> bool,
        expected_item_tokens: i64,
        expected_available_tokens: i64
    | {
        let matched = excluded_matching(report, predicate);
        let details = |excluded: &&ExcludedItem| match excluded.reason {
            ExclusionReason::BudgetExceeded { item_tokens, available_tokens } => {
                Some((item_tokens, available_tokens))
            }
            _ => None,
        };
        let found: Vec<(i64, i64)> = matched.iter().filter_map(details).collect();
        if found.contains(&(expected_item_tokens, expected_available_tokens)) {
            return None;
        }
        let found = match found.first() {
            Some((item_tokens, available_tokens)) => {
                format!("found item_tokens={item_tokens}, available_tokens={available_tokens}.")
            }
            None => {
                let (count, reasons) = (matched.len(), text::list(text::distinct_reasons(matched)));
                format!(
                    "no matching item had reason BudgetExceeded. \
                     Predicate matched {count} excluded item(s) with reasons: [{reasons}]."
                )
            }
        };
        Some(format!(
            " failed: expected BudgetExceeded with item_tokens={expected_item_tokens}, \
             available_tokens={expected_available_tokens}, but {found}"
        ))
    }

    /// No excluded item has this kind.
    ///
    /// Use [`include_exactly_n_items_with_kind`](Self::include_exactly_n_items_with_kind) to assert that
    /// such items were *included*.
    "HaveNoExclusionsForKind": have_no_exclusions_for_kind, try_have_no_exclusions_for_kind
    |report, kind: impl Borrow<ContextKind>| {
        let kind = kind.borrow();
        let of_kind = excluded_matching(report, |item| item.kind() == kind);
        let ExcludedItem { score, reason, .. } = of_kind.first()?;
        let (count, reason) = (of_kind.len(), reason.name());
        Some(format!(
            "({kind}) failed: found {count} excluded item(s) with Kind={kind}. \
             First: score={score}, reason={reason}."
        ))
    }

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
            descending_key(next.score) < descending_key(item.score)
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
