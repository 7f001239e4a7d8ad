//! Assertions about what was selected.

use std::borrow::Borrow;

use super::chain::or_panic;
use super::{Outcome, SelectionReportAssertionChain, SelectionReportAssertionError, text};
use crate::diagnostics::IncludedItem;
use crate::model::ContextKind;

impl<'a> SelectionReportAssertionChain<'a> {
    /// At least one included item has this kind.
    ///
    /// # Panics
    ///
    /// When none has.
    #[track_caller]
    pub fn include_item_with_kind(self, kind: impl Borrow<ContextKind>) -> Self {
        or_panic(self.try_include_item_with_kind(kind))
    }

    /// As [`include_item_with_kind`](Self::include_item_with_kind), but returns the failure.
    ///
    /// # Errors
    ///
    /// When no included item has this kind.
    pub fn try_include_item_with_kind(self, kind: impl Borrow<ContextKind>) -> Outcome<'a> {
        let kind = kind.borrow();
        if self.included_of_kind(kind) > 0 {
            return Ok(self);
        }
        let included = &self.report.included;
        let (count, kinds) = (included.len(), text::list(text::distinct_kinds(included)));
        Err(SelectionReportAssertionError::new(
            "IncludeItemWithKind",
            format_args!(
                "({kind}) failed: Included contained 0 items with Kind={kind}. \
                 Included had {count} items with kinds: [{kinds}]."
            ),
        ))
    }

    /// At least one included item, with its score and reason, satisfies the predicate.
    ///
    /// # Panics
    ///
    /// When none does. The message ends with a summary of the first five included items.
    #[track_caller]
    pub fn include_item_matching(self, predicate: impl FnMut(&IncludedItem) -> bool) -> Self {
        or_panic(self.try_include_item_matching(predicate))
    }

    /// As [`include_item_matching`](Self::include_item_matching), but returns the failure.
    ///
    /// # Errors
    ///
    /// When no included item satisfies the predicate.
    pub fn try_include_item_matching(
        self,
        predicate: impl FnMut(&IncludedItem) -> bool,
    ) -> Outcome<'a> {
        let included = &self.report.included;
        if included.iter().any(predicate) {
            return Ok(self);
        }
        let count = included.len();
        let failure = SelectionReportAssertionError::new(
            "IncludeItemMatching",
            format_args!(
                " failed: no item in Included matched the predicate. Included had {count} items."
            ),
        );
        Err(failure.with_details(text::summary(included)))
    }

    /// Exactly `n` included items have this kind; 0 says that none has.
    ///
    /// # Panics
    ///
    /// When another number of them has.
    #[track_caller]
    pub fn include_exactly_n_items_with_kind(
        self,
        kind: impl Borrow<ContextKind>,
        n: usize,
    ) -> Self {
        or_panic(self.try_include_exactly_n_items_with_kind(kind, n))
    }

    /// As [`include_exactly_n_items_with_kind`](Self::include_exactly_n_items_with_kind), but
    /// returns the failure.
    ///
    /// # Errors
    ///
    /// When another number of included items has this kind.
    pub fn try_include_exactly_n_items_with_kind(
        self,
        kind: impl Borrow<ContextKind>,
        n: usize,
    ) -> Outcome<'a> {
        let kind = kind.borrow();
        let actual = self.included_of_kind(kind);
        if actual == n {
            return Ok(self);
        }
        let count = self.report.included.len();
        Err(SelectionReportAssertionError::new(
            "IncludeExactlyNItemsWithKind",
            format_args!(
                "({kind}, {n}) failed: expected {n} items with Kind={kind} in Included, \
                 but found {actual}. Included had {count} items total."
            ),
        ))
    }

    fn included_of_kind(self, kind: &ContextKind) -> usize {
        self.report.included.iter().filter(|included| included.item.kind() == kind).count()
    }
}
