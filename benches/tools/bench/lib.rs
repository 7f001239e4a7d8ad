//! Sets of tools with questions, and the requests that are sent for them.

#![allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::must_use_candidate
)]

pub mod measure;
pub mod sets;
