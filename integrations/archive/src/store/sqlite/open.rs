//! Opens a file, or a database in memory, and brings its tables up to date.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::Connection as _;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};

use super::SqliteStore;
use super::schema::STEPS;
use crate::archive::Options;
use crate::error::{ArchiveError, Failure};
use crate::store::migrate;
use crate::store::row::During as _;

const OPEN: &str = "open the file";
const MIGRATE: &str = "make the tables";

impl SqliteStore {
    /// Opens the file, or without one a database in memory.
    pub(crate) async fn open(path: Option<&Path>, options: &Options) -> Result<Self, ArchiveError> {
        let connect = SqliteConnectOptions::new()
            .busy_timeout(options.lock_timeout)
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
            let store = Self { write: one.clone(), read: one, lock_timeout: options.lock_timeout };
            store.migrate().await?;
            return Ok(store);
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
        let store = Self { write, read, lock_timeout: options.lock_timeout };
        store.migrate().await?;
        Ok(store)
    }

    /// Serialised across processes by the file's own lock.
    async fn migrate(&self) -> Result<(), ArchiveError> {
        // Most of the time there is nothing to do, and nobody to wait for.
        let found = self.version().await?;
        if found > 0 && migrate::left(found, STEPS)?.is_empty() {
            return Ok(());
        }
        let mut transaction = self.begin(MIGRATE).await?;
        let there: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'cupel_schema'",
        )
        .fetch_one(&mut *transaction)
        .await
        .during(MIGRATE)?;
        if there == 0 {
            sqlx::query("CREATE TABLE cupel_schema (version INTEGER NOT NULL) STRICT")
                .execute(&mut *transaction)
                .await
                .during(MIGRATE)?;
        }
        let found: i64 = sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM cupel_schema")
            .fetch_one(&mut *transaction)
            .await
            .during(MIGRATE)?;
        for (version, statements) in migrate::left(found, STEPS)? {
            for statement in statements {
                sqlx::query(*statement).execute(&mut *transaction).await.during(MIGRATE)?;
            }
            sqlx::query("INSERT INTO cupel_schema (version) VALUES (?1)")
                .bind(version)
                .execute(&mut *transaction)
                .await
                .during(MIGRATE)?;
        }
        transaction.commit().await.during(MIGRATE)
    }

    /// The version of the tables; 0 where there are none.
    async fn version(&self) -> Result<i64, ArchiveError> {
        let there: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'cupel_schema'",
        )
        .fetch_one(&self.write)
        .await
        .during(MIGRATE)?;
        if there == 0 {
            return Ok(0);
        }
        sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM cupel_schema")
            .fetch_one(&self.write)
            .await
            .during(MIGRATE)
    }

    /// The language that was set first.
    pub(crate) async fn language(&self, wanted: &str) -> Result<String, ArchiveError> {
        const KEPT: &str = "SELECT value FROM cupel_settings WHERE name = 'language'";
        let kept = sqlx::query_scalar(KEPT).fetch_optional(&self.write).await.during(OPEN)?;
        if let Some(kept) = kept {
            return Ok(kept);
        }
        sqlx::query(
            "INSERT INTO cupel_settings (name, value) VALUES ('language', ?1)
             ON CONFLICT (name) DO NOTHING",
        )
        .bind(wanted)
        .execute(&self.write)
        .await
        .during(OPEN)?;
        sqlx::query_scalar(KEPT).fetch_one(&self.write).await.during(OPEN)
    }
}

async fn pool(
    connect: SqliteConnectOptions,
    connections: u32,
    options: &Options,
    writes: bool,
) -> Result<SqlitePool, ArchiveError> {
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

/// Whether a connection can be used again. When the disk is full SQLite ends a transaction by itself,
/// and the driver goes on believing in it.
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
fn create_for_owner(path: &Path) -> Result<(), ArchiveError> {
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
