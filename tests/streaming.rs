//! Selecting while items arrive: the same selection as a batch, earlier.

#![cfg(feature = "layer")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "streaming/equality.rs"]
mod equality;
#[path = "streaming/recount.rs"]
mod recount;
#[path = "streaming/refusals.rs"]
mod refusals;
#[path = "streaming/reports.rs"]
mod reports;
#[path = "streaming/slow_scorers.rs"]
mod slow_scorers;
#[path = "streaming/stopping.rs"]
mod stopping;
#[path = "streaming/support.rs"]
mod support;
