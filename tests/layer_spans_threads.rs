//! The `tracing` spans of calls that move between threads.

#![cfg(feature = "layer")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "layer/common.rs"]
mod common;
#[path = "layer/spans/threads.rs"]
mod threads;
