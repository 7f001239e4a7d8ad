//! The integration as its users see it, against a real HTTP server that is as strict as the API.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "openai/arbitrary.rs"]
mod arbitrary;
#[path = "openai/auto_traits.rs"]
mod auto_traits;
#[path = "openai/bodies.rs"]
mod bodies;
#[path = "openai/chat_properties.rs"]
mod chat_properties;
#[path = "openai/compactor.rs"]
mod compactor;
#[path = "openai/concurrency.rs"]
mod concurrency;
#[path = "openai/context.rs"]
mod context;
#[path = "openai/counting.rs"]
mod counting;
#[path = "openai/embeddings.rs"]
mod embeddings;
#[path = "openai/failures.rs"]
mod failures;
#[path = "openai/messages.rs"]
mod messages;
#[path = "openai/oracle.rs"]
mod oracle;
#[path = "openai/planned_properties.rs"]
mod planned_properties;
#[path = "openai/question.rs"]
mod question;
#[path = "openai/raw_messages.rs"]
mod raw_messages;
#[path = "openai/reports.rs"]
mod reports;
#[path = "openai/responses_items.rs"]
mod responses_items;
#[path = "openai/responses_properties.rs"]
mod responses_properties;
#[path = "openai/stacks.rs"]
mod stacks;
#[path = "openai/streams.rs"]
mod streams;
#[path = "openai/strictness.rs"]
mod strictness;
#[path = "openai/support.rs"]
mod support;
