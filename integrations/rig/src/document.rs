//! Items as rig's context documents.

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
