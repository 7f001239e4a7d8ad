//! Tools in bodies that do not fit: what is left out, and that no API would refuse what is sent.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

#[path = "tools/edges.rs"]
mod edges;
#[path = "tools/properties.rs"]
mod properties;
#[path = "tools/support.rs"]
mod support;
