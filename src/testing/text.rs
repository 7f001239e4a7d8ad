//! Lists and summaries for the messages of failed assertions.

use std::fmt::{Display, Write};

use crate::diagnostics::{ExcludedItem, IncludedItem};
use crate::model::ContextKind;

use super::ReasonKind;

/// Separates the values with commas.
pub(super) fn list<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    texts.join(", ")
}

/// The different kinds among `included`, in order of first appearance.
pub(super) fn distinct_kinds(included: &[IncludedItem]) -> Vec<&ContextKind> {
    distinct(included.iter().map(|included| included.item.kind()))
}

/// The different reasons among `excluded`, in order of first appearance.
pub(super) fn distinct_reasons<'a>(
    excluded: impl IntoIterator<Item = &'a ExcludedItem>,
) -> Vec<ReasonKind<'a>> {
    distinct(excluded.into_iter().map(|excluded| ReasonKind::from(&excluded.reason)))
}

fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// One line for each of the first five items, and how many more there are.
pub(super) fn summary(included: &[IncludedItem]) -> String {
    const SHOWN: usize = 5;
    let mut text = String::new();
    for (index, IncludedItem { item, score, reason, .. }) in included.iter().take(SHOWN).enumerate()
    {
        // Writing to a `String` cannot fail.
        let _ = write!(
            text,
            "\n  {index}: kind={kind}, score={score}, reason={reason}",
            kind = item.kind()
        );
    }
    if let Some(more @ 1..) = included.len().checked_sub(SHOWN) {
        let _ = write!(text, "\n  and {more} more");
    }
    text
}
