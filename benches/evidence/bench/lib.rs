//! Questions whose evidence is known, and ways of selecting for them.

#![allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::must_use_candidate
)]

pub mod embeddings;
pub mod paraphrased;
pub mod planned;
pub mod planted;
pub mod sets;
pub mod talks;
pub mod ways;
