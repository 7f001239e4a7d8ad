//! Reports built by hand.

use cupel::diagnostics::{ExcludedItem, ExclusionReason, IncludedItem, InclusionReason};
use cupel::testing::{SelectionReportAssertionChain, SelectionReportAssertionError};
use cupel::{ContextItem, ContextKind, SelectionReport};

pub(crate) fn message() -> ContextKind {
    ContextKind::message()
}

pub(crate) fn tool_output() -> ContextKind {
    ContextKind::tool_output()
}

pub(crate) fn document() -> ContextKind {
    ContextKind::document()
}

/// An included item of 10 tokens.
pub(crate) fn included(kind: ContextKind, score: f64) -> IncludedItem {
    let item = ContextItem::builder("text", 10).kind(kind).build().unwrap();
    IncludedItem::new(item, score, InclusionReason::Scored)
}

pub(crate) fn excluded(content: &str, score: f64, reason: ExclusionReason) -> ExcludedItem {
    ExcludedItem::new(ContextItem::new(content, 10).unwrap(), score, reason)
}

pub(crate) fn excluded_of_kind(
    kind: ContextKind,
    score: f64,
    reason: ExclusionReason,
) -> ExcludedItem {
    let item = ContextItem::builder("text", 10).kind(kind).build().unwrap();
    ExcludedItem::new(item, score, reason)
}

pub(crate) fn too_large(item_tokens: i64, available_tokens: i64) -> ExclusionReason {
    ExclusionReason::BudgetExceeded { item_tokens, available_tokens }
}

pub(crate) fn duplicate() -> ExclusionReason {
    ExclusionReason::Deduplicated { deduplicated_against: "text".into() }
}

/// A report with the lists exactly as given, in order or not.
pub(crate) fn report(
    included: impl IntoIterator<Item = IncludedItem>,
    excluded: impl IntoIterator<Item = ExcludedItem>,
) -> SelectionReport {
    let mut report = SelectionReport::default();
    report.included.extend(included);
    report.excluded.extend(excluded);
    report
}

/// A report whose included messages have these scores, in this order.
pub(crate) fn with_scores(scores: impl IntoIterator<Item = f64>) -> SelectionReport {
    report(scores.into_iter().map(|score| included(message(), score)), [])
}

pub(crate) fn empty() -> SelectionReport {
    SelectionReport::default()
}

/// The text of a failure, which names its assertion first.
pub(crate) fn failure(
    outcome: Result<SelectionReportAssertionChain<'_>, SelectionReportAssertionError>,
) -> String {
    let failure = outcome.expect_err("the assertion should fail");
    assert!(failure.to_string().starts_with(failure.assertion()), "{failure:?}");
    failure.to_string()
}
