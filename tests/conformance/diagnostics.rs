//! The `[expected.diagnostics]` table against a report.

use cupel::SelectionReport;
use cupel::diagnostics::{ExcludedItem, ExclusionReason, IncludedItem};

use super::document::View;
use super::run::same_score;

pub(crate) fn check(
    expected: Option<&View<'_>>,
    report: &SelectionReport,
    epsilon: f64,
) -> Result<(), String> {
    let Some(expected) = expected else {
        return Ok(());
    };
    if expected.has("included") {
        let views = expected.tables("included")?;
        same_length("included", &views, report.included.len(), &contents_in(report))?;
        for (view, included) in views.iter().zip(&report.included) {
            check_included(view, included, epsilon)?;
        }
    }
    if expected.has("excluded") {
        let views = expected.tables("excluded")?;
        same_length("excluded", &views, report.excluded.len(), &contents_out(report))?;
        for (view, excluded) in views.iter().zip(&report.excluded) {
            check_excluded(view, excluded, epsilon)?;
        }
    }
    if let Some(summary) = expected.table("summary")? {
        let candidates = i64::try_from(report.total_candidates).unwrap_or(i64::MAX);
        same(&summary, "total_candidates", candidates)?;
        same(&summary, "total_tokens_considered", report.total_tokens_considered)?;
    }
    Ok(())
}

fn contents_in(report: &SelectionReport) -> Vec<&str> {
    report.included.iter().map(|included| included.item.content()).collect()
}

fn contents_out(report: &SelectionReport) -> Vec<&str> {
    report.excluded.iter().map(|excluded| excluded.item.content()).collect()
}

fn same_length(
    what: &str,
    views: &[View<'_>],
    len: usize,
    contents: &[&str],
) -> Result<(), String> {
    if views.len() == len {
        return Ok(());
    }
    Err(format!("{what}: expected {} items, got {len}: {contents:?}", views.len()))
}

fn check_included(view: &View<'_>, included: &IncludedItem, epsilon: f64) -> Result<(), String> {
    let content = included.item.content();
    needed_text(view, "content", content)?;
    let score = view.required("score_approx", view.float("score_approx")?)?;
    same_score(&format!("score of included {content:?}"), score, included.score, epsilon)?;
    needed_text(view, "inclusion_reason", included.reason.name())?;
    same(view, "tokens", included.item.tokens())
}

fn check_excluded(view: &View<'_>, excluded: &ExcludedItem, epsilon: f64) -> Result<(), String> {
    let content = excluded.item.content();
    needed_text(view, "content", content)?;
    let score = view.required("score_approx", view.float("score_approx")?)?;
    same_score(&format!("score of excluded {content:?}"), score, excluded.score, epsilon)?;
    needed_text(view, "exclusion_reason", excluded.reason.name())?;
    same(view, "tokens", excluded.item.tokens())?;
    match &excluded.reason {
        ExclusionReason::BudgetExceeded { item_tokens, available_tokens } => {
            same(view, "item_tokens", *item_tokens)?;
            same(view, "available_tokens", *available_tokens)
        }
        ExclusionReason::Deduplicated { deduplicated_against } => {
            same_text(view, "deduplicated_against", deduplicated_against)
        }
        ExclusionReason::PinnedOverride { displaced_by } => {
            same_text(view, "displaced_by", displaced_by)
        }
        ExclusionReason::NegativeTokens { tokens } => same(view, "tokens", *tokens),
        ExclusionReason::CountCapExceeded { kind, cap, count } => {
            same_text(view, "kind", kind.as_str())?;
            same(view, "cap", i64::try_from(*cap).unwrap_or(i64::MAX))?;
            same(view, "count", i64::try_from(*count).unwrap_or(i64::MAX))
        }
        _ => Ok(()),
    }
}

/// Compares an integer when the vector gives one.
fn same(view: &View<'_>, key: &str, actual: i64) -> Result<(), String> {
    match view.integer(key)? {
        Some(expected) if expected != actual => {
            Err(format!("{key}: expected {expected}, got {actual}"))
        }
        _ => Ok(()),
    }
}

/// Compares a text that every entry has to give.
fn needed_text(view: &View<'_>, key: &str, actual: &str) -> Result<(), String> {
    view.required(key, view.string(key)?)?;
    same_text(view, key, actual)
}

/// Compares a text when the vector gives one.
fn same_text(view: &View<'_>, key: &str, actual: &str) -> Result<(), String> {
    match view.string(key)? {
        Some(expected) if expected != actual => {
            Err(format!("{key}: expected {expected:?}, got {actual:?}"))
        }
        _ => Ok(()),
    }
}
