//! The layer as its users see it: readiness, stacks, budgets, reports, failures.

#![cfg(feature = "layer")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "layer/adapters.rs"]
mod adapters;
#[path = "layer/ages.rs"]
mod ages;
#[path = "layer/auto_traits.rs"]
mod auto_traits;
#[path = "layer/blocking.rs"]
mod blocking;
#[path = "layer/budget.rs"]
mod budget;
#[path = "layer/builder.rs"]
mod builder;
#[path = "layer/cancellation.rs"]
mod cancellation;
#[path = "layer/common.rs"]
mod common;
#[path = "layer/concurrency.rs"]
mod concurrency;
#[path = "layer/counting_ahead.rs"]
mod counting_ahead;
#[path = "layer/dry_runs.rs"]
mod dry_runs;
#[path = "layer/hooks.rs"]
mod hooks;
#[path = "layer/observers.rs"]
mod observers;
#[path = "layer/origins.rs"]
mod origins;
#[path = "layer/panics.rs"]
mod panics;
#[path = "layer/parts.rs"]
mod parts;
#[path = "layer/policy_handle.rs"]
mod policy_handle;
#[path = "layer/readiness.rs"]
mod readiness;
#[path = "layer/ready_after_gathering.rs"]
mod ready_after_gathering;
#[path = "layer/sent_tokens.rs"]
mod sent_tokens;
#[path = "layer/stacks_above.rs"]
mod stacks_above;
#[path = "layer/stacks_below.rs"]
mod stacks_below;
#[path = "layer/streaming_response.rs"]
mod streaming_response;
#[path = "layer/timers.rs"]
mod timers;
#[path = "layer/units.rs"]
mod units;
