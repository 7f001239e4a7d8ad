//! Several parts that are kept or dropped together, as one item.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::{ContextItem, ContextItemBuilder};

/// Sum of the parts of one item. Tokens add up, and the item is pinned if one part is. Date, priority
/// and relevance are the highest of any part. Tags are those of all parts.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    tokens: i64,
    pinned: bool,
    timestamp: Option<DateTime<Utc>>,
    priority: Option<i64>,
    relevance: Option<f64>,
    tags: Vec<String>,
}

impl Fold {
    /// Adds a part. A negative count is not valid, and must not make the others look cheaper: it
    /// becomes the count of all.
    pub(crate) fn add(&mut self, tokens: i64, pinned: bool, timestamp: Option<DateTime<Utc>>) {
        self.tokens = match (self.tokens < 0, tokens < 0) {
            (true, _) => self.tokens,
            (false, true) => tokens,
            (false, false) => self.tokens.saturating_add(tokens),
        };
        self.pinned |= pinned;
        self.timestamp = self.timestamp.max(timestamp);
    }

    /// Adds the priority, the relevance and the tags of a part.
    pub(crate) fn add_hints(
        &mut self,
        priority: Option<i64>,
        relevance: Option<f64>,
        tags: &[String],
    ) {
        self.priority = self.priority.max(priority);
        self.relevance = [self.relevance, relevance].into_iter().flatten().max_by(f64::total_cmp);
        self.tags.extend_from_slice(tags);
    }

    /// The item, but for its kind, its source and its metadata.
    pub(crate) fn into_item(self, content: impl Into<Arc<str>>) -> ContextItemBuilder {
        let mut item =
            ContextItem::builder(content, self.tokens).pinned(self.pinned).tags(self.tags);
        item.fields.timestamp = self.timestamp;
        item.fields.priority = self.priority;
        item.fields.future_relevance_hint = self.relevance;
        item
    }
}
