//! The assertions over a selection report: when they hold, when they fail, and every message in
//! full.

#![cfg(feature = "testing")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "testing_vocabulary/aggregate.rs"]
mod aggregate;
#[path = "testing_vocabulary/budget.rs"]
mod budget;
#[path = "testing_vocabulary/budget_details.rs"]
mod budget_details;
#[path = "testing_vocabulary/chain.rs"]
mod chain;
#[path = "testing_vocabulary/coverage.rs"]
mod coverage;
#[path = "testing_vocabulary/edges.rs"]
mod edges;
#[path = "testing_vocabulary/exclusion.rs"]
mod exclusion;
#[path = "testing_vocabulary/inclusion.rs"]
mod inclusion;
#[path = "testing_vocabulary/panics.rs"]
mod panics;
#[path = "testing_vocabulary/reasons.rs"]
mod reasons;
#[path = "testing_vocabulary/reports.rs"]
mod reports;
#[path = "testing_vocabulary/top_edges.rs"]
mod top_edges;
