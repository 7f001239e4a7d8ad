//! Promises that hold for every input, checked on random ones.
//!
//! `PROPTEST_CASES=<number>` tries more of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod support;

#[cfg(feature = "serde")]
#[path = "properties/binary.rs"]
mod binary;
#[path = "properties/budgets.rs"]
mod budgets;
#[path = "properties/knapsack.rs"]
mod knapsack;
#[path = "properties/order.rs"]
mod order;
#[path = "properties/presets.rs"]
mod presets;
#[path = "properties/quotas.rs"]
mod quotas;
#[path = "properties/reports.rs"]
mod reports;
#[path = "properties/robustness.rs"]
mod robustness;
#[path = "properties/scoring.rs"]
mod scoring;
#[path = "properties/selection.rs"]
mod selection;
#[path = "properties/strategies.rs"]
mod strategies;
#[path = "properties/threads.rs"]
mod threads;
#[cfg(feature = "serde")]
#[path = "properties/wire.rs"]
mod wire;
