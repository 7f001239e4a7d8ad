//! Compares the selections of a stream with those of a batch of the same items.
//!
//! 50,000 random cases for each promise, or a part of them; `PROPTEST_CASES=<number>` sets
//! another number for all.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "stream_slice/batch.rs"]
mod batch;
#[path = "stream_slice/cases.rs"]
mod cases;
#[path = "stream_slice/duplicates.rs"]
mod duplicates;
#[path = "stream_slice/edges.rs"]
mod edges;
#[path = "stream_slice/large.rs"]
mod large;
#[path = "stream_slice/minimal.rs"]
mod minimal;
#[path = "stream_slice/prefixes.rs"]
mod prefixes;
#[path = "stream_slice/settled.rs"]
mod settled;
