//! Requests taken apart and put together, without an agent around them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

#[path = "requests/auto_traits.rs"]
mod auto_traits;
#[path = "requests/budget.rs"]
mod budget;
#[path = "requests/claude.rs"]
mod claude;
#[path = "requests/counting.rs"]
mod counting;
#[path = "requests/documents.rs"]
mod documents;
#[path = "requests/horizon.rs"]
mod horizon;
#[path = "requests/messages.rs"]
mod messages;
#[path = "requests/plan.rs"]
mod plan;
#[path = "requests/plan_documents.rs"]
mod plan_documents;
#[path = "requests/plan_horizon.rs"]
mod plan_horizon;
#[path = "requests/plan_properties.rs"]
mod plan_properties;
#[path = "requests/properties.rs"]
mod properties;
#[path = "requests/question.rs"]
mod question;
#[path = "requests/select.rs"]
mod select;
#[path = "requests/services.rs"]
mod services;
#[path = "requests/streams.rs"]
mod streams;
mod support;
#[path = "requests/tools.rs"]
mod tools;
