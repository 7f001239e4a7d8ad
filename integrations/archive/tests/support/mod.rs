//! Databases for tests: a file, or a database of a real server.

#![allow(dead_code, unused_macros)] // not every test needs all of it

pub(crate) mod logs;

use cupel_archive::{Archive, ArchiveBuilder};
use cupel_dev_servers::postgres;
use tempfile::TempDir;

/// A database that is empty at first.
pub(crate) struct Database {
    pub(crate) address: String,
    folder: Option<TempDir>,
}

impl Database {
    /// A file of its own.
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite://{}", folder.path().join("archive.db").display());
        Self { address, folder: Some(folder) }
    }

    /// A database of the shared server; none where there is no PostgreSQL.
    pub(crate) async fn postgres() -> Option<Self> {
        let server = postgres::shared()?;
        let address = server.address(&server.database());
        Some(Self { address, folder: None })
    }

    pub(crate) async fn open(&self) -> Archive {
        self.builder().open().await.unwrap()
    }

    pub(crate) fn builder(&self) -> ArchiveBuilder {
        Archive::builder(&self.address)
    }

    /// The folder of the file, for SQLite.
    pub(crate) fn folder(&self) -> Option<&std::path::Path> {
        self.folder.as_ref().map(TempDir::path)
    }
}

/// Runs the same test in each database.
#[macro_export]
macro_rules! in_both {
    ($($(#[$meta:meta])* async fn $name:ident($database:ident) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            async fn test($database: &$crate::support::Database) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                test(&$crate::support::Database::sqlite()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                if let Some(database) = $crate::support::Database::postgres().await {
                    test(&database).await;
                }
            }
        }
    )*};
}
