//! The plan of a turn through the adapter: what a provider gets, call after call.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "plan/arbitrary.rs"]
mod arbitrary;
#[path = "plan/breakpoints.rs"]
mod breakpoints;
#[path = "plan/excerpts.rs"]
mod excerpts;
#[path = "plan/histories.rs"]
mod histories;
#[path = "plan/judging.rs"]
mod judging;
#[path = "plan/loops.rs"]
mod loops;
#[path = "plan/meaning.rs"]
mod meaning;
#[path = "plan/parts.rs"]
mod parts;
#[path = "plan/properties.rs"]
mod properties;
#[path = "plan/recall.rs"]
mod recall;
#[path = "plan/responses.rs"]
mod responses;
#[path = "plan/sources.rs"]
mod sources;
#[path = "plan/standing.rs"]
mod standing;
#[path = "plan/support.rs"]
mod support;
#[path = "plan/waiting.rs"]
mod waiting;
