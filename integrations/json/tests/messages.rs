//! Anthropic's Messages, against a stand-in of the API that shares no code with the adapter.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "messages/blocks.rs"]
mod blocks;
#[path = "messages/bytes.rs"]
mod bytes;
#[path = "messages/caches.rs"]
mod caches;
#[path = "messages/counting.rs"]
mod counting;
#[path = "messages/plan.rs"]
mod plan;
#[path = "messages/properties.rs"]
mod properties;
#[path = "messages/question.rs"]
mod question;
#[path = "messages/replay.rs"]
mod replay;
#[path = "messages/strictness.rs"]
mod strictness;
#[path = "messages/support.rs"]
mod support;
