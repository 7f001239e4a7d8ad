//! The archive in real databases: SQLite in files, and PostgreSQL on a server that the test starts.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod support;

#[path = "archive/auto_traits.rs"]
mod auto_traits;
#[path = "archive/embedding.rs"]
mod embedding;
#[path = "archive/erased_files.rs"]
mod erased_files;
#[path = "archive/erasing.rs"]
mod erasing;
#[path = "archive/example.rs"]
mod example;
#[path = "archive/excerpts.rs"]
mod excerpts;
#[path = "archive/full_pool.rs"]
mod full_pool;
#[path = "archive/hanging.rs"]
mod hanging;
#[path = "archive/history.rs"]
mod history;
#[path = "archive/keys.rs"]
mod keys;
#[path = "archive/meaning.rs"]
mod meaning;
#[path = "archive/opening.rs"]
mod opening;
#[path = "archive/originals.rs"]
mod originals;
#[path = "archive/pgvector.rs"]
mod pgvector;
#[path = "archive/recording.rs"]
mod recording;
#[path = "archive/responses.rs"]
mod responses;
#[cfg(feature = "rig")]
#[path = "archive/rig_memory.rs"]
mod rig_memory;
#[path = "archive/searching.rs"]
mod searching;
#[path = "archive/sources.rs"]
mod sources;
#[path = "archive/storing.rs"]
mod storing;
#[path = "archive/summaries.rs"]
mod summaries;
#[path = "archive/tenants.rs"]
mod tenants;
#[path = "archive/vector_store.rs"]
mod vector_store;
#[path = "archive/waiting.rs"]
mod waiting;
#[path = "archive/wire.rs"]
mod wire;
#[path = "archive/writers.rs"]
mod writers;
