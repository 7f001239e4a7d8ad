//! Exported spans and metrics, as the SDK's exporters see them.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod otel {
    mod auto_traits;
    mod chapter;
    mod collector;
    pub(crate) mod common;
    mod concurrency;
    mod content;
    mod conversation;
    mod exporters;
    mod failures;
    mod judges;
    mod layer;
    pub(crate) mod metrics;
    mod otlp;
    mod parents;
    mod routes;
    mod sampling;
    mod sent;
    mod streaming;
    mod times;
    pub(crate) mod tree;
}
