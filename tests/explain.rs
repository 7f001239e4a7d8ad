//! A selection as text and as a page: what is shown, what is escaped, and what is left out.

#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "explain/common.rs"]
mod common;
#[path = "explain/difference.rs"]
mod difference;
#[cfg(feature = "layer")]
#[path = "explain/of_the_layer.rs"]
mod of_the_layer;
#[path = "explain/page.rs"]
mod page;
#[path = "explain/reading.rs"]
mod reading;
#[path = "explain/relevance.rs"]
mod relevance;
#[path = "explain/score_parts.rs"]
mod score_parts;
#[path = "explain/secrets.rs"]
mod secrets;
#[path = "explain/text.rs"]
mod text;
