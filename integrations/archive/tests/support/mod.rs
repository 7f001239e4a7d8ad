//! Databases for tests: a file, or a database of a real server.

#![allow(dead_code, unused_macros)] // not every test needs all of it

pub(crate) mod embedders;
pub(crate) mod logs;

use std::io::Write as _;
use std::sync::Arc;

use cupel_archive::{Archive, ArchiveBuilder, ArchiveEmbedder};
use cupel_dev_servers::postgres;
use embedders::Synonyms;
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

    /// A database of the shared server with the extension `pgvector`; none where that is not installed.
    pub(crate) async fn pgvector() -> Option<Self> {
        let server = postgres::shared()?;
        if !server.has_extension("vector") {
            let what = "pgvector is not installed (apt-get install postgresql-15-pgvector), so it is not tested";
            assert!(
                std::env::var_os("CUPEL_REQUIRE_PGVECTOR").is_none(),
                "CUPEL_REQUIRE_PGVECTOR is set, but {what}"
            );
            // Past the capture of a test's output: a skip must be seen.
            let _ = writeln!(std::io::stderr(), "skipped: {what}");
            return None;
        }
        let name = server.database();
        server.sql(&name, "CREATE EXTENSION vector");
        Some(Self { address: server.address(&name), folder: None })
    }

    pub(crate) async fn open(&self) -> Archive {
        self.builder().open().await.unwrap()
    }

    pub(crate) fn builder(&self) -> ArchiveBuilder {
        Archive::builder(&self.address)
    }

    /// Opens the archive with an embedder.
    pub(crate) async fn open_with(&self, embedder: &Arc<Synonyms>) -> Archive {
        self.builder().embedder(ArchiveEmbedder::new(Arc::clone(embedder))).open().await.unwrap()
    }

    /// Runs a statement of the test itself, and returns the number it answers.
    pub(crate) async fn number(&self, statement: &'static str) -> i64 {
        use sqlx::Connection as _;
        if let Some(folder) = self.folder() {
            let path = folder.join("archive.db").display().to_string();
            let mut file = sqlx::SqliteConnection::connect(&path).await.unwrap();
            sqlx::query_scalar(statement)
                .fetch_optional(&mut file)
                .await
                .unwrap()
                .unwrap_or_default()
        } else {
            let mut server = sqlx::PgConnection::connect(&self.address).await.unwrap();
            sqlx::query_scalar(statement)
                .fetch_optional(&mut server)
                .await
                .unwrap()
                .unwrap_or_default()
        }
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

/// Runs the same test in each database, and in PostgreSQL with the extension `pgvector`.
#[macro_export]
macro_rules! with_vectors {
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

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn pgvector() {
                if let Some(database) = $crate::support::Database::pgvector().await {
                    test(&database).await;
                }
            }
        }
    )*};
}
