//! Items as rig's context documents, and documents as they are quoted.

use std::borrow::Cow;
use std::collections::HashMap;

use cupel::ContextItem;
use rig_core::completion::Document;

/// The metadata key under which an item carries its document's id.
pub(crate) const ID: &str = "id";

/// The id of a document whose item has none.
const NAMELESS: &str = "context";

/// An item of a source as the document that goes into the request. It depends on the item alone,
/// so what is counted is what is sent.
pub(crate) fn document_of(item: &ContextItem) -> Document {
    let id = item.metadata().get(ID).map_or(NAMELESS, String::as_str);
    Document {
        id: id.to_owned(),
        text: item.content().to_owned(),
        additional_props: HashMap::new(),
    }
}

/// A document as it is quoted: its id, what is known of it, and its text.
pub(crate) fn quoted_text(document: &Document) -> Cow<'_, str> {
    let Document { id, text, additional_props } = document;
    if id == NAMELESS && additional_props.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut known: Vec<String> =
        additional_props.iter().map(|(key, value)| format!(" {key}: {value:?}")).collect();
    known.sort_unstable();
    Cow::Owned(format!("{id}{}: {text}", known.concat()))
}
