//! The archive in SQLite: one connection that writes, and some that read.

mod append;
mod erase;
mod open;
mod read;
mod schema;
mod search;

use std::time::Duration;

use sqlx::Transaction;
use sqlx::sqlite::{Sqlite, SqlitePool};

use super::row::During as _;
use crate::error::ArchiveError;

/// An archive in a file or in memory.
#[derive(Debug)]
pub(crate) struct SqliteStore {
    /// A single connection: writers of this process queue for it in their order, instead of
    /// polling for SQLite's lock.
    write: SqlitePool,
    read: SqlitePool,
    lock_timeout: Duration,
}

impl SqliteStore {
    /// A transaction that has the lock from its beginning: one that asked for it later could find
    /// that what it read is no longer so.
    async fn begin(
        &self,
        operation: &'static str,
    ) -> Result<Transaction<'_, Sqlite>, ArchiveError> {
        self.write.begin_with("BEGIN IMMEDIATE").await.during(operation)
    }

    pub(crate) async fn close(&self) {
        // The readers first: the last connection to close empties the log.
        self.read.close().await;
        self.write.close().await;
    }
}

/// The conversation and the number of a message as one row number, so that a conversation's messages
/// stand together in the file and in the index.
fn row_number(conversation: i64, number: i64) -> Result<i64, ArchiveError> {
    const NUMBERS: i64 = 1 << 32;
    if (0..NUMBERS).contains(&number) && (0..i64::MAX / NUMBERS).contains(&conversation) {
        Ok(conversation * NUMBERS + number)
    } else {
        Err(ArchiveError::argument(
            "messages",
            format!(
                "number {number} of conversation {conversation}: a file takes 2^32 messages in each of 2^31 conversations"
            ),
        ))
    }
}
