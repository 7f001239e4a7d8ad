//! Assertions about what was left out, and why.

use std::borrow::Borrow;

use super::chain::or_panic;
use super::{
    Outcome, ReasonKind, SelectionReportAssertionChain, SelectionReportAssertionError, text,
};
use crate::diagnostics::{ExcludedItem, ExclusionReason};
use crate::model::{ContextItem, ContextKind};

impl<'a> SelectionReportAssertionChain<'a> {
    /// At least one excluded item has a reason of this variant.
    ///
    /// ```
    /// # use cupel::{ContextItem, ExcludedItem, ExclusionReason, SelectionReport};
    /// use cupel::testing::ReasonKind;
    ///
    /// # let item = ContextItem::new("a long log", 400)?;
    /// # let reason = ExclusionReason::BudgetExceeded { item_tokens: 400, available_tokens: 50 };
    /// # let excluded = vec![ExcludedItem { item, score: 0.5, reason }];
    /// # let report = SelectionReport::new(vec![], vec![], excluded, vec![]);
    /// report.should().exclude_item_with_reason(ReasonKind::BudgetExceeded);
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When none has.
    #[track_caller]
    pub fn exclude_item_with_reason<'r>(self, reason: impl Into<ReasonKind<'r>>) -> Self {
        or_panic(self.try_exclude_item_with_reason(reason))
    }

    /// As [`exclude_item_with_reason`](Self::exclude_item_with_reason), but returns the failure.
    ///
    /// # Errors
    ///
    /// When no excluded item has a reason of this variant.
    pub fn try_exclude_item_with_reason<'r>(
        self,
        reason: impl Into<ReasonKind<'r>>,
    ) -> Outcome<'a> {
        let reason = reason.into();
        let excluded = &self.report.excluded;
        let reasons = text::distinct_reasons(excluded);
        if reasons.contains(&reason) {
            return Ok(self);
        }
        let (count, reasons) = (excluded.len(), text::list(reasons));
        Err(SelectionReportAssertionError::new(
            "ExcludeItemWithReason",
            format_args!(
                "({reason}) failed: no excluded item had reason {reason}. \
                 Excluded had {count} items with reasons: [{reasons}]."
            ),
        ))
    }

    /// At least one excluded item satisfies the predicate and has a reason of this variant.
    ///
    /// # Panics
    ///
    /// When none does both. The message tells a predicate that matched nothing from items that
    /// were left out for other reasons.
    #[track_caller]
    pub fn exclude_item_matching_with_reason<'r>(
        self,
        predicate: impl FnMut(&ContextItem) -> bool,
        reason: impl Into<ReasonKind<'r>>,
    ) -> Self {
        or_panic(self.try_exclude_item_matching_with_reason(predicate, reason))
    }

    /// As [`exclude_item_matching_with_reason`](Self::exclude_item_matching_with_reason), but
    /// returns the failure.
    ///
    /// # Errors
    ///
    /// When no excluded item satisfies the predicate and has a reason of this variant.
    pub fn try_exclude_item_matching_with_reason<'r>(
        self,
        predicate: impl FnMut(&ContextItem) -> bool,
        reason: impl Into<ReasonKind<'r>>,
    ) -> Outcome<'a> {
        let reason = reason.into();
        let matched = self.excluded_matching(predicate);
        let reasons = text::distinct_reasons(matched.iter().copied());
        if reasons.contains(&reason) {
            return Ok(self);
        }
        let (count, reasons) = (matched.len(), text::list(reasons));
        Err(SelectionReportAssertionError::new(
            "ExcludeItemMatchingWithReason",
            format_args!(
                "(reason={reason}) failed: predicate matched {count} excluded item(s) \
                 but none had reason {reason}. Matched items had reasons: [{reasons}]."
            ),
        ))
    }

    /// An excluded item satisfies the predicate and did not fit the budget, by exactly these
    /// token counts.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[track_caller]
    pub fn exclude_item_with_budget_details(
        self,
        predicate: impl FnMut(&ContextItem) -> bool,
        expected_item_tokens: i64,
        expected_available_tokens: i64,
    ) -> Self {
        or_panic(self.try_exclude_item_with_budget_details(
            predicate,
            expected_item_tokens,
            expected_available_tokens,
        ))
    }

    /// As [`exclude_item_with_budget_details`](Self::exclude_item_with_budget_details), but
    /// returns the failure.
    ///
    /// # Errors
    ///
    /// When no excluded item satisfies the predicate and has
    /// [`BudgetExceeded`](ExclusionReason::BudgetExceeded) with these token counts.
    pub fn try_exclude_item_with_budget_details(
        self,
        predicate: impl FnMut(&ContextItem) -> bool,
        expected_item_tokens: i64,
        expected_available_tokens: i64,
    ) -> Outcome<'a> {
        let expected = (expected_item_tokens, expected_available_tokens);
        let matched = self.excluded_matching(predicate);
        let found: Vec<(i64, i64)> = matched
            .iter()
            .filter_map(|excluded| match excluded.reason {
                ExclusionReason::BudgetExceeded { item_tokens, available_tokens } => {
                    Some((item_tokens, available_tokens))
                }
                _ => None,
            })
            .collect();
        if found.contains(&expected) {
            return Ok(self);
        }
        let fail = |found| {
            SelectionReportAssertionError::new(
                "ExcludeItemWithBudgetDetails",
                format_args!(
                    " failed: expected BudgetExceeded with item_tokens={expected_item_tokens}, \
                     available_tokens={expected_available_tokens}, but {found}."
                ),
            )
        };
        Err(match found.first() {
            Some((item_tokens, available_tokens)) => fail(format_args!(
                "found item_tokens={item_tokens}, available_tokens={available_tokens}"
            )),
            None => {
                let (count, reasons) = (matched.len(), text::list(text::distinct_reasons(matched)));
                fail(format_args!("no matching item had reason BudgetExceeded")).with_details(
                    format!(
                        " Predicate matched {count} excluded item(s) with reasons: [{reasons}]."
                    ),
                )
            }
        })
    }

    /// No excluded item has this kind.
    ///
    /// Whether one was *included* is another question:
    /// [`include_exactly_n_items_with_kind`](Self::include_exactly_n_items_with_kind) asks it.
    ///
    /// # Panics
    ///
    /// When one has.
    #[track_caller]
    pub fn have_no_exclusions_for_kind(self, kind: impl Borrow<ContextKind>) -> Self {
        or_panic(self.try_have_no_exclusions_for_kind(kind))
    }

    /// As [`have_no_exclusions_for_kind`](Self::have_no_exclusions_for_kind), but returns the
    /// failure.
    ///
    /// # Errors
    ///
    /// When an excluded item has this kind.
    pub fn try_have_no_exclusions_for_kind(self, kind: impl Borrow<ContextKind>) -> Outcome<'a> {
        let kind = kind.borrow();
        let of_kind = self.excluded_matching(|item| item.kind() == kind);
        let Some(ExcludedItem { score, reason, .. }) = of_kind.first() else {
            return Ok(self);
        };
        let (count, reason) = (of_kind.len(), reason.name());
        Err(SelectionReportAssertionError::new(
            "HaveNoExclusionsForKind",
            format_args!(
                "({kind}) failed: found {count} excluded item(s) with Kind={kind}. \
                 First: score={score}, reason={reason}."
            ),
        ))
    }

    fn excluded_matching(
        self,
        mut predicate: impl FnMut(&ContextItem) -> bool,
    ) -> Vec<&'a ExcludedItem> {
        self.report.excluded.iter().filter(|excluded| predicate(&excluded.item)).collect()
    }
}
