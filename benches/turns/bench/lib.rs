//! Replays recorded runs turn by turn, and measures what of them is sent.

#![allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::must_use_candidate
)]

pub mod cache;
pub mod check;
pub mod evidence;
pub mod measure;
pub mod messages;
pub mod session;
pub mod ways;
