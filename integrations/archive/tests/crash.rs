//! Crashes: writers and servers that are killed, full disks, held files, lost connections.
//!
//! A few rounds run with the suite; `CUPEL_ARCHIVE_CRASHES=300` runs that many of each.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::print_stderr)] // how many crashes there were

mod support;

#[path = "crash/embedding.rs"]
mod embedding;
#[path = "crash/killed.rs"]
mod killed;
#[path = "crash/migrations.rs"]
mod migrations;
#[path = "crash/trouble.rs"]
mod trouble;
#[path = "crash/writer.rs"]
mod writer;
