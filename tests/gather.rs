//! Sources as their users see them: what arrives, what is cut off, and what a fault does.

#![cfg(feature = "layer")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "layer/common.rs"]
mod common;
#[path = "gather/conversation.rs"]
mod conversation;
#[path = "gather/deadlines.rs"]
mod deadlines;
#[path = "gather/defaults.rs"]
mod defaults;
#[path = "gather/endless.rs"]
mod endless;
#[path = "gather/errors.rs"]
mod errors;
#[path = "gather/invalid_items.rs"]
mod invalid_items;
#[path = "gather/kinds_of_source.rs"]
mod kinds_of_source;
#[path = "gather/limits.rs"]
mod limits;
#[path = "gather/panics.rs"]
mod panics;
#[path = "gather/pins.rs"]
mod pins;
#[path = "gather/slow_polls.rs"]
mod slow_polls;
