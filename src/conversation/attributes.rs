//! Hints of the caller about a message.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::model::{ContextItemBuilder, Fold};

/// Hints of the caller about a message: its priority, tags, date and more. All are optional.
///
/// ```
/// use cupel::conversation::Attributes;
///
/// let important = Attributes::new().priority(10).tag("decision").relevance(0.9);
/// assert_eq!(important.pinned, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Attributes {
    /// True if the message is always sent, false if it competes with the others. Overrides the conversation's own rules both ways.
    pub pinned: Option<bool>,
    /// The priority; higher is more important.
    pub priority: Option<i64>,
    /// The tags.
    pub tags: Vec<String>,
    /// The relevance, conventionally in `[0.0, 1.0]`.
    pub relevance: Option<f64>,
    /// Time at which the message was really written.
    pub timestamp: Option<DateTime<Utc>>,
    /// Key-value data for scorers that read it.
    pub metadata: BTreeMap<String, String>,
}

impl Attributes {
    /// No attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the message is always sent.
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.pinned = Some(pinned);
        self
    }

    /// Sets the priority; higher is more important.
    pub fn priority(mut self, priority: i64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Adds a tag.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Sets the relevance, conventionally in `[0.0, 1.0]`.
    pub fn relevance(mut self, relevance: f64) -> Self {
        self.relevance = Some(relevance);
        self
    }

    /// Sets when the message was really written.
    pub fn timestamp(mut self, timestamp: DateTime<Utc>) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    /// Adds a metadata entry; a later value replaces an earlier one for the same key.
    pub fn metadata_entry(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Starts an item with these attributes, for what is no message: a document, say.
    pub fn item(self, content: impl Into<Arc<str>>, tokens: i64) -> ContextItemBuilder {
        let mut fold = Fold::default();
        fold.add(tokens, self.pinned == Some(true), self.timestamp);
        fold.add_hints(self.priority, self.relevance, &self.tags);
        fold.into_item(content).metadata(self.metadata)
    }
}
