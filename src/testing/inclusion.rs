//! Assertions about what was selected.

use std::borrow::Borrow;

use super::assertions::assertions;
use super::text;
use crate::diagnostics::{IncludedItem, SelectionReport};
use crate::model::ContextKind;

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

    /// At least one included item, with its score and reason, satisfies the predicate. The message
    /// ends with a summary of the first five included items.
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
}
