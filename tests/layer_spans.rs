//! The `tracing` spans of a call, as a subscriber sees them.

#![cfg(feature = "layer")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "layer/common.rs"]
mod common;
#[path = "layer/spans/content.rs"]
mod content;
#[path = "layer/spans/interleaved.rs"]
mod interleaved;
#[path = "layer/spans/summary.rs"]
mod summary;
#[path = "layer/spans/tree.rs"]
mod tree;
