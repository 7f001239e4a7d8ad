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
#[path = "requests/counting.rs"]
mod counting;
#[path = "requests/documents.rs"]
mod documents;
#[path = "requests/horizon.rs"]
mod horizon;
#[path = "requests/messages.rs"]
mod messages;
#[path = "requests/properties.rs"]
mod properties;
#[path = "requests/question.rs"]
mod question;
#[path = "../../questions/mod.rs"]
mod questions;
#[path = "requests/select.rs"]
mod select;
#[path = "requests/services.rs"]
mod services;
#[path = "requests/streams.rs"]
mod streams;
mod support;
