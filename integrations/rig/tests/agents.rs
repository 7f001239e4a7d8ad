//! Real rig agents with the layer in front of their model, as a stack and as a hook.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unreachable,
    missing_docs
)]

#[path = "agents/failures.rs"]
mod failures;
#[path = "agents/http.rs"]
mod http;
#[path = "agents/indexes.rs"]
mod indexes;
#[path = "agents/loops.rs"]
mod loops;
#[path = "agents/parallel.rs"]
mod parallel;
#[path = "agents/provider.rs"]
mod provider;
#[path = "agents/question.rs"]
mod question;
#[path = "agents/run.rs"]
mod run;
#[path = "agents/stacks.rs"]
mod stacks;
#[path = "agents/strict.rs"]
mod strict;
mod support;
#[path = "agents/tool_loop.rs"]
mod tool_loop;
