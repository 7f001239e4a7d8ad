//! Errors of an archive.

use std::fmt;

/// The result of whatever asks a database.
pub(crate) type Result<T, E = ArchiveError> = std::result::Result<T, E>;

/// Why an archive could not do what was asked. None of its texts holds a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The address is not one of a database that can be an archive.
    #[error(
        "archive address {address}: {problem}; valid are sqlite://path, sqlite::memory: and postgres://user@host/database"
    )]
    Address {
        /// The address, without its password.
        address: String,
        /// Problem with the address.
        problem: String,
    },
    /// The tables were made by a newer version of this crate.
    #[error(
        "the archive's tables have version {found}, and this program knows versions up to {known}: update the program"
    )]
    Newer {
        /// The version of the tables.
        found: i64,
        /// The newest version that this crate knows.
        known: i64,
    },
    /// An argument that no database could take.
    #[error("{field}: {problem}")]
    Argument {
        /// Name of the argument.
        field: &'static str,
        /// Given value, and the values that are valid.
        problem: String,
    },
    /// A key came again with other messages.
    #[error("append key {key:?}: was used before for other messages; a key belongs to one append")]
    KeyReused {
        /// The key.
        key: String,
    },
    /// The database could not do it.
    #[error("archive: {operation}: {problem}{}", advice(*.kind))]
    Database {
        /// Operation that failed.
        operation: &'static str,
        /// Kind of failure.
        kind: Failure,
        /// Message of the database.
        problem: String,
    },
}

/// Kinds of database failures that a caller may handle differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Failure {
    /// Somebody else holds the database or the conversation for too long.
    Busy,
    /// There is no room on the disk.
    Full,
    /// The server cannot be reached or went away.
    Connection,
    /// It took longer than the archive may take.
    TimedOut,
    /// The stored data was not written by this crate.
    Corrupt,
    /// Anything else.
    Other,
}

/// Text for a call that got no connection from the pool.
const NO_CONNECTION: &str = "no connection became free in time";

fn advice(kind: Failure) -> &'static str {
    match kind {
        Failure::Busy => " (another process or task holds the lock; try again)",
        Failure::Full => " (no room left on the disk)",
        Failure::Connection => " (the next call connects anew)",
        Failure::TimedOut | Failure::Corrupt | Failure::Other => "",
    }
}

impl ArchiveError {
    /// Returns true if a retry may succeed: the database was busy, full, unreachable or slow.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        use Failure::{Busy, Connection, Full, TimedOut};
        matches!(self, Self::Database { kind: Busy | Full | Connection | TimedOut, .. })
    }

    /// Returns true if the operation may have succeeded although it is reported as failed: the answer was
    /// lost.
    pub(crate) fn is_in_doubt(&self) -> bool {
        use Failure::{Connection, TimedOut};
        matches!(self, Self::Database { kind: Connection | TimedOut, .. })
    }

    /// Turns an error about a missing connection into one that says that the server is unreachable.
    pub(crate) fn away(self) -> Self {
        match self {
            Self::Database { operation, problem, .. } if problem == NO_CONNECTION => {
                let problem = "the server does not answer".to_owned();
                Self::Database { operation, kind: Failure::Connection, problem }
            }
            other => other,
        }
    }

    pub(crate) fn argument(field: &'static str, problem: impl Into<String>) -> Self {
        Self::Argument { field, problem: problem.into() }
    }

    pub(crate) fn corrupt(operation: &'static str, problem: impl fmt::Display) -> Self {
        Self::Database { operation, kind: Failure::Corrupt, problem: problem.to_string() }
    }

    pub(crate) fn timed_out(operation: &'static str, after: std::time::Duration) -> Self {
        let problem = format!("no answer within {after:?}");
        Self::Database { operation, kind: Failure::TimedOut, problem }
    }

    pub(crate) fn database(operation: &'static str, error: &sqlx::Error) -> Self {
        let problem = match error {
            sqlx::Error::PoolTimedOut => NO_CONNECTION.to_owned(),
            error => error.to_string(),
        };
        Self::Database { operation, kind: failure(error), problem }
    }

    /// Takes a secret out of the text, in case a driver ever repeats it.
    pub(crate) fn without(mut self, secret: Option<&str>) -> Self {
        if let (Self::Database { problem, .. } | Self::Address { problem, .. }, Some(secret)) =
            (&mut self, secret)
            && problem.contains(secret)
        {
            *problem = problem.replace(secret, "***");
        }
        self
    }
}

fn failure(error: &sqlx::Error) -> Failure {
    match error {
        sqlx::Error::PoolTimedOut => Failure::Busy,
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::WorkerCrashed => {
            Failure::Connection
        }
        sqlx::Error::PoolClosed | sqlx::Error::Protocol(_) => Failure::Connection,
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => Failure::Corrupt,
        sqlx::Error::Database(error) => {
            let code = error.code();
            if error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
                sqlite_failure(code.as_deref())
            } else {
                postgres_failure(code.as_deref())
            }
        }
        _ => Failure::Other,
    }
}

/// By SQLite's primary result code, which is the low byte of the extended one.
fn sqlite_failure(code: Option<&str>) -> Failure {
    match code.and_then(|code| code.parse::<i32>().ok()).map(|code| code & 0xff) {
        Some(5 | 6) => Failure::Busy,
        Some(13) => Failure::Full,
        Some(11 | 26) => Failure::Corrupt,
        // An input or output error, or a file that cannot be opened.
        Some(10 | 14) => Failure::Connection,
        _ => Failure::Other,
    }
}

/// By SQLSTATE.
fn postgres_failure(code: Option<&str>) -> Failure {
    match code {
        Some("53100") => Failure::Full,
        // Lock not available, deadlock, too many connections.
        Some("55P03" | "40P01" | "40001" | "53300") => Failure::Busy,
        Some("57014") => Failure::TimedOut,
        // Connection exceptions, and a server that shuts down, crashes or starts.
        Some(code) if code.starts_with("08") || code.starts_with("57P") => Failure::Connection,
        Some(code) if code.starts_with("XX") => Failure::Corrupt,
        _ => Failure::Other,
    }
}
