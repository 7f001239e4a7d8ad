//! The layer as its users see it: readiness, stacks, budgets, reports, failures.

#![cfg(feature = "layer")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "layer/common.rs"]
mod common;
#[path = "layer/readiness.rs"]
mod readiness;
#[path = "layer/ready_after_gathering.rs"]
mod ready_after_gathering;
#[path = "layer/stacks_above.rs"]
mod stacks_above;
#[path = "layer/stacks_below.rs"]
mod stacks_below;
