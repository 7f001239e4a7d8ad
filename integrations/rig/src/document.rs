//! Documents and items of sources as texts that are quoted, and the document of a quotation.

use std::borrow::Cow;
use std::collections::HashMap;

use cupel::ContextItem;
use rig_core::completion::Document;

/// The metadata key under which an item carries its document's id.
pub(crate) const ID: &str = "id";

/// The document that holds what sources gave to a request without a plan, quoted.
pub(crate) fn source_document(quotation: &str) -> Document {
    Document {
        id: "context".to_owned(),
        text: quotation.to_owned(),
        additional_props: HashMap::new(),
    }
}

/// Text of a source's item: its id, where it has one, and its content.
pub(crate) fn item_text(item: &ContextItem) -> Cow<'_, str> {
    match item.metadata().get(ID) {
        Some(id) => format!("{id}: {}", item.content()).into(),
        None => item.content().into(),
    }
}

/// Text of a document: its id, what is known of it, and its content.
pub(crate) fn quoted_text(document: &Document) -> String {
    let Document { id, text, additional_props } = document;
    let mut known: Vec<String> =
        additional_props.iter().map(|(key, value)| format!(" {key}: {value:?}")).collect();
    known.sort_unstable();
    format!("{id}{}: {text}", known.concat())
}
