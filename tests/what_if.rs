//! Other budgets, other policies, and the numbers read off a report.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "what_if/arbitrary.rs"]
mod arbitrary;
#[path = "what_if/conversations.rs"]
mod conversations;
#[path = "what_if/guards.rs"]
mod guards;
#[path = "what_if/metrics.rs"]
mod metrics;
#[path = "what_if/sensitivity.rs"]
mod sensitivity;
#[path = "what_if/simulation.rs"]
mod simulation;
#[path = "what_if/smallest.rs"]
mod smallest;
