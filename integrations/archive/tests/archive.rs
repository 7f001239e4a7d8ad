//! The archive in real databases: SQLite in files, and PostgreSQL on a server that the test starts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod support;

#[path = "archive/auto_traits.rs"]
mod auto_traits;
#[path = "archive/erasing.rs"]
mod erasing;
#[path = "archive/history.rs"]
mod history;
#[path = "archive/keys.rs"]
mod keys;
#[path = "archive/opening.rs"]
mod opening;
#[path = "archive/storing.rs"]
mod storing;
#[path = "archive/writers.rs"]
mod writers;
