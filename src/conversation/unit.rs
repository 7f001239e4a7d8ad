//! Messages that are kept or dropped together, as one item.

use chrono::{DateTime, Utc};

use super::message::{Message, Role};
use crate::error::CupelError;
use crate::layer::fold;
use crate::model::{ContextItem, ContextKind, ContextSource};

/// A message on its way to becoming a part of a unit.
pub(super) struct Dated {
    pub(super) message: Message,
    pub(super) timestamp: DateTime<Utc>,
    pub(super) pinned: bool,
}

/// Makes one item of the messages with these indexes.
pub(super) fn item(members: &[(usize, Dated)]) -> Result<ContextItem, CupelError> {
    let has_answers = members.iter().any(|(_, dated)| !dated.message.answers.is_empty());
    let items = members
        .iter()
        .map(|(index, dated)| message_item(*index, dated, has_answers))
        .collect::<Result<Vec<_>, _>>()?;
    match <[ContextItem; 1]>::try_from(items) {
        Ok([item]) => Ok(item),
        Err(items) => fold(&items),
    }
}

fn message_item(index: usize, dated: &Dated, has_answers: bool) -> Result<ContextItem, CupelError> {
    let Dated { message, timestamp, pinned } = dated;
    let Message { role, text, tokens, attributes, .. } = message;
    let (kind, source) = match role {
        _ if has_answers => (ContextKind::tool_output(), ContextSource::tool()),
        Role::System => (ContextKind::system_prompt(), ContextSource::chat()),
        Role::Tool => (ContextKind::tool_output(), ContextSource::tool()),
        Role::User | Role::Assistant => (ContextKind::message(), ContextSource::chat()),
    };
    // With its number no message is another's duplicate: "yes" means something else each time.
    let mut item = ContextItem::builder(format!("[{index}] {role}: {text}"), *tokens)
        .kind(kind)
        .source(source)
        .timestamp(attributes.timestamp.unwrap_or(*timestamp))
        .tags(attributes.tags.iter())
        .metadata(attributes.metadata.clone())
        .pinned(*pinned);
    if let Some(priority) = attributes.priority {
        item = item.priority(priority);
    }
    if let Some(relevance) = attributes.relevance {
        item = item.future_relevance_hint(relevance);
    }
    item.build()
}
