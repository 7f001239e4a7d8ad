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
#[path = "agents/parallel.rs"]
mod parallel;
#[path = "agents/question.rs"]
mod question;
#[path = "../../questions/mod.rs"]
mod questions;
#[path = "../../../tests/layer/spans/recorder.rs"]
mod recorder;
#[path = "agents/run.rs"]
mod run;
#[path = "agents/stacks.rs"]
mod stacks;
mod support;
#[path = "agents/tool_loop.rs"]
mod tool_loop;
