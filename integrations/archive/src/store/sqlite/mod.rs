//! The archive in SQLite: one connection that writes, and some that read.

mod insert;
mod schema;
mod statements;

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::Connection as _;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};

pub(super) use insert::insert;
pub(super) use statements::DIALECT;

use super::backend::DatabaseContext as _;
use crate::error::{ArchiveError, Failure, Result};
use crate::options::Options;

const OPEN: &str = "open the file";

/// The connections to a file, or to a database in memory.
#[derive(Debug)]
pub(super) struct SqlitePools {
    /// A single connection: writers of this process queue for it in their order, instead of
    /// polling for SQLite's lock.
    pub(super) write: SqlitePool,
    pub(super) read: SqlitePool,
    lock_timeout: Duration,
}

/// Opens the file, or without one a database in memory.
pub(super) async fn open(path: Option<&Path>, options: &Options) -> Result<SqlitePools> {
    let lock_timeout = options.lock_timeout;
    let connect = SqliteConnectOptions::new()
        .busy_timeout(lock_timeout)
        .foreign_keys(false)
        // How far the thread that reads may be ahead: with less it stops and goes all the time.
        .row_buffer_size(1_024)
        // What is deleted is overwritten.
        .pragma("secure_delete", "ON")
        // Sorting must not leave a copy of anything in a temporary file.
        .pragma("temp_store", "MEMORY");
    let Some(path) = path else {
        // Every connection would have a database of its own.
        let one = pool(connect.in_memory(true), 1, options, false).await?;
        return Ok(SqlitePools { write: one.clone(), read: one, lock_timeout });
    };
    create_for_owner(path)?;
    let connect = connect
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let write = pool(connect.clone(), 1, options, true).await?;
    let readers = options.connections.saturating_sub(1).max(1);
    let read = pool(connect.pragma("query_only", "ON"), readers, options, false).await?;
    Ok(SqlitePools { write, read, lock_timeout })
}

impl SqlitePools {
    pub(super) async fn close(&self) {
        // The readers first: the last connection to close empties the log.
        self.read.close().await;
        self.write.close().await;
    }

    /// Moves the log into the file and empties it: it holds what was there before.
    pub(super) async fn empty_log(&self) -> Result<bool> {
        let until = Instant::now() + self.lock_timeout;
        loop {
            let (busy, _, _): (i64, i64, i64) = sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)")
                .fetch_one(&self.write)
                .await
                .during("empty the log")?;
            if busy == 0 || Instant::now() >= until {
                return Ok(busy == 0);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The conversation and the number of a message as one row number, so that a conversation's messages
/// stand together in the file and in the index.
pub(super) fn row_number(conversation: i64, number: i64) -> Result<i64> {
    const NUMBERS: i64 = 1 << 32;
    if (0..NUMBERS).contains(&number) && (0..i64::MAX / NUMBERS).contains(&conversation) {
        return Ok(conversation * NUMBERS + number);
    }
    let problem = format!(
        "number {number} of conversation {conversation}: a file takes 2^32 messages in each of 2^31 conversations"
    );
    Err(ArchiveError::argument("messages", problem))
}

async fn pool(
    connect: SqliteConnectOptions,
    connections: u32,
    options: &Options,
    writes: bool,
) -> Result<SqlitePool> {
    let until = Instant::now() + options.lock_timeout;
    loop {
        let pool = SqlitePoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(options.lock_timeout)
            // A database in memory lives as long as its connection.
            .idle_timeout(None)
            .max_lifetime(None)
            // There is no network that could lose it.
            .test_before_acquire(false)
            .after_release(move |connection, _| Box::pin(usable(connection, writes)))
            .connect_with(connect.clone())
            .await
            .during(OPEN);
        match pool {
            // Two processes that turn the log on at once: SQLite does not let either of them wait.
            Err(ArchiveError::Database { kind: Failure::Busy, .. }) if Instant::now() < until => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => return other,
        }
    }
}

/// Returns true if a connection can be used again. On a full disk SQLite ends a transaction by itself,
/// and the driver does not notice it.
async fn usable(connection: &mut SqliteConnection, writes: bool) -> Result<bool, sqlx::Error> {
    // The usual case, in which nobody has to be asked.
    if !(writes && connection.is_in_transaction()) {
        return Ok(true);
    }
    // What was to be rolled back is, once this is answered.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

/// Makes the file before SQLite does, readable by its owner only. The files beside it get the same
/// permissions from SQLite.
fn create_for_owner(path: &Path) -> Result<()> {
    let mut create = std::fs::OpenOptions::new();
    create.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut create, 0o600);
    match create.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(ArchiveError::Database {
            operation: OPEN,
            kind: if error.kind() == std::io::ErrorKind::StorageFull {
                Failure::Full
            } else {
                Failure::Other
            },
            problem: format!("{}: {error}", path.display()),
        }),
    }
}
