//! Assertions about what was left out, and why.

use std::borrow::Borrow;

use super::chain::assertions;
use super::{ReasonKind, text};
use crate::diagnostics::{ExcludedItem, ExclusionReason, SelectionReport};
use crate::model::{ContextItem, ContextKind};
use crate::order;

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
    /// # use cupel::{ContextItem, ExcludedItem, ExclusionReason, SelectionReport};
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
    /// [`IncludedItem`](crate::IncludedItem).
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
