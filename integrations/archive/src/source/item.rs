//! An archived message as an item.

use cupel::gather::BoxError;
use cupel::{ContextItem, ContextItemBuilder, ContextSource};

use crate::message::StoredMessage;

/// Source name of the archive's items.
fn source() -> ContextSource {
    ContextSource::new("Archive").unwrap_or_default()
}

/// Starts an item of a message, with its role, number and conversation as metadata; none for a
/// message without text, which has nothing to show.
pub(super) fn item(conversation: &str, stored: StoredMessage) -> Option<ContextItemBuilder> {
    let StoredMessage { number, message } = stored;
    if message.content.is_empty() {
        return None;
    }
    let mut item = ContextItem::builder(message.content, message.tokens)
        .kind(message.kind)
        .source(source())
        .metadata(message.metadata)
        .metadata_entry("role", message.role.to_string())
        .metadata_entry("number", number.to_string())
        .metadata_entry("conversation", conversation);
    if let Some(time) = message.time {
        item = item.timestamp(time);
    }
    Some(item)
}

/// The finished items of some messages.
pub(super) fn built(
    items: impl IntoIterator<Item = ContextItemBuilder>,
) -> Result<Vec<ContextItem>, BoxError> {
    Ok(items.into_iter().map(ContextItemBuilder::build).collect::<Result<_, _>>()?)
}
