//! A selected item and where it came from, and parts of a request that must not be sent.

use std::sync::Arc;

use super::ContextItem;

/// A part of a request that the model's API would refuse.
///
/// The report lists it as [`Filtered`](crate::ExclusionReason::Filtered) with the reason as the
/// filter's name.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The part, as an item.
    pub item: ContextItem,
    /// Why, in a few words.
    pub why: String,
}

/// A selected item and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The item.
    pub item: ContextItem,
    /// Where it came from.
    pub origin: Origin,
}

/// Where an item came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The request's own candidate with this index.
    Request(usize),
    /// A source, by name, and the item's index in what it yielded.
    Source {
        /// The source's name.
        name: Arc<str>,
        /// The item's index.
        position: usize,
    },
}
