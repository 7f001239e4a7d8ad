//! Other budgets, other policies, and the numbers read off a report.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod arbitrary;
mod guards;
mod metrics;
mod sensitivity;
mod simulation;
