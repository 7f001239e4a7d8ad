//! Items and budgets from a vector's tables.

use std::collections::HashMap;

use cupel::{ContextBudget, ContextItem, ContextKind, ContextSource, CupelError};

use super::document::View;

/// Why something could not be built.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The vector does not make sense to this runner.
    Vector(String),
    /// The library refused it, or its types cannot even express it.
    RefusedItem(String),
}

impl From<String> for Failure {
    fn from(problem: String) -> Self {
        Self::Vector(problem)
    }
}

impl From<CupelError> for Failure {
    fn from(error: CupelError) -> Self {
        Self::RefusedItem(error.to_string())
    }
}

/// One item.
pub(crate) fn item(view: &View<'_>) -> Result<ContextItem, Failure> {
    let content = view.required("content", view.string("content")?)?;
    let tokens = view.required("tokens", view.integer("tokens")?)?;
    let (kind, source) = (view.string("kind")?, view.string("source")?);
    let pinned = view.boolean("pinned")?.unwrap_or(false);
    let mut builder = ContextItem::builder(content, tokens).pinned(pinned);
    if let Some(timestamp) = view.instant("timestamp")? {
        builder = builder.timestamp(timestamp);
    }
    if let Some(priority) = view.integer("priority")? {
        builder = builder.priority(priority);
    }
    if let Some(tags) = view.strings("tags")? {
        builder = builder.tags(tags);
    }
    if let Some(hint) = view.float("futureRelevanceHint")? {
        builder = builder.future_relevance_hint(hint);
    }
    if let Some(metadata) = view.table("metadata")? {
        for key in metadata.keys() {
            let value = metadata.required(key, metadata.string(key)?)?;
            builder = builder.metadata_entry(key, value);
        }
    }
    // Refusals come last, so that no key looks unknown.
    if let Some(kind) = kind {
        builder = builder.kind(ContextKind::new(kind)?);
    }
    if let Some(source) = source {
        builder = builder.source(ContextSource::new(source)?);
    }
    Ok(builder.build()?)
}

/// All items of an array of tables.
pub(crate) fn items(views: &[View<'_>]) -> Result<Vec<ContextItem>, Failure> {
    let items: Vec<_> = views.iter().map(item).collect();
    items.into_iter().collect()
}

/// A budget; without `max_tokens` the target is the ceiling too.
pub(crate) fn budget(root: &View<'_>) -> Result<ContextBudget, Failure> {
    let view = root.required("budget", root.table("budget")?)?;
    let target = view.required("target_tokens", view.integer("target_tokens")?)?;
    let (max, reserve) = (view.integer("max_tokens")?, view.integer("output_reserve")?);
    let margin = view.float("estimation_safety_margin_percent")?;
    let mut slots = HashMap::new();
    if let Some(reserved) = view.table("reserved_slots")? {
        for key in reserved.keys() {
            let tokens = reserved.required(key, reserved.integer(key)?)?;
            slots.insert(ContextKind::new(key)?, tokens);
        }
    }
    Ok(ContextBudget::new(
        max.unwrap_or(target),
        target,
        reserve.unwrap_or(0),
        slots,
        margin.unwrap_or(0.0),
    )?)
}
