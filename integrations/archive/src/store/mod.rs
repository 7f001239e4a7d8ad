//! The databases behind an archive. What they do is written once; each has its own statements where
//! tables, indexes and locks differ.

mod append;
mod backend;
mod dialect;
mod erase;
mod migrate;
mod postgres;
mod read;
mod row;
mod search;
mod sqlite;
mod summaries;
mod summary_tables;
mod vectors;

use backend::{Backend, Connection, DatabaseContext as _, Session, Transaction};
use dialect::Dialect;
use sqlite::SqlitePools;
use sqlx::postgres::PgPool;
use vectors::PgVector;

pub(crate) use backend::Row;
pub(crate) use search::{ConversationSize, SearchReader, SearchScope};
pub(crate) use vectors::{MessageVector, NewVectors, Unembedded};

use crate::address::Address;
use crate::digest::name_digest;
use crate::error::Result;
use crate::options::Options;

/// One of the databases.
#[derive(Debug)]
pub(crate) struct Store {
    pools: Backend<SqlitePools, PgPool>,
    dialect: &'static Dialect,
    pgvector: PgVector,
}

impl Store {
    pub(crate) async fn open(address: &Address, options: &Options) -> Result<Self> {
        let pools = match address {
            Address::Memory => Backend::Sqlite(sqlite::open(None, options).await?),
            Address::File(path) => Backend::Sqlite(sqlite::open(Some(path), options).await?),
            Address::Postgres { options: connect, .. } => {
                Backend::Postgres(postgres::open(connect, options).await?)
            }
        };
        let dialect = match &pools {
            Backend::Sqlite(_) => &sqlite::DIALECT,
            Backend::Postgres(_) => &postgres::DIALECT,
        };
        let store = Self { pools, dialect, pgvector: PgVector::default() };
        store.migrate().await?;
        Ok(store)
    }

    /// A connection to read by.
    async fn connection(&self, operation: &'static str) -> Result<Connection> {
        let backend = match &self.pools {
            Backend::Sqlite(pools) => pools.read.acquire().await.map(Backend::Sqlite),
            Backend::Postgres(pool) => pool.acquire().await.map(Backend::Postgres),
        };
        Ok(Session { operation, backend: backend.during(operation)? })
    }

    /// A transaction to write in. In SQLite it has the lock from its beginning: one that asked for it
    /// later could find that what it read is no longer so.
    async fn begin(&self, operation: &'static str) -> Result<Transaction> {
        let backend = match &self.pools {
            Backend::Sqlite(pools) => {
                pools.write.begin_with("BEGIN IMMEDIATE").await.map(Backend::Sqlite)
            }
            Backend::Postgres(pool) => pool.begin().await.map(Backend::Postgres),
        };
        Ok(Session { operation, backend: backend.during(operation)? })
    }

    /// The conversation's id and its next number; nobody else writes to it until the transaction ends.
    async fn locked(
        &self,
        transaction: &mut Transaction,
        namespace: &str,
        conversation: &str,
    ) -> Result<Option<(i64, i64)>> {
        let found = transaction.row(self.dialect.lock, &[&namespace, &conversation]).await?;
        found.map(|row| Ok((row.get(0)?, row.get(1)?))).transpose()
    }

    /// Returns true if the pool may open another connection to the server.
    pub(crate) fn may_connect(&self) -> bool {
        match &self.pools {
            Backend::Postgres(pool) => pool.size() < pool.options().get_max_connections(),
            _ => false,
        }
    }

    pub(crate) async fn close(&self) {
        match &self.pools {
            Backend::Sqlite(pools) => pools.close().await,
            Backend::Postgres(pool) => pool.close().await,
        }
    }
}

impl Transaction {
    /// Makes sure that of those who make a conversation and those who forget it only one goes on, until
    /// its transaction ends. Everybody else holds the conversation's row.
    async fn alone_with_name(&mut self, namespace: &str, conversation: &str) -> Result<()> {
        let [a, b, c, d, e, f, g, h, ..] = name_digest(namespace, conversation);
        self.alone_with(i64::from_le_bytes([a, b, c, d, e, f, g, h])).await
    }

    /// Waits until no other transaction holds this number. SQLite's have the whole file anyway.
    async fn alone_with(&mut self, number: i64) -> Result<()> {
        if !self.is_sqlite() {
            self.run("SELECT pg_advisory_xact_lock($1)", &[&number]).await?;
        }
        Ok(())
    }
}
