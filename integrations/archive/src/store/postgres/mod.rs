//! The archive in PostgreSQL.

mod append;
mod erase;
mod open;
mod read;
mod schema;
mod search;

use sqlx::Transaction;
use sqlx::postgres::{PgPool, Postgres};

use super::row::During as _;
use crate::digest::name_digest;
use crate::error::ArchiveError;

/// An archive in a database of a server.
#[derive(Debug)]
pub(crate) struct PostgresStore {
    pool: PgPool,
}

impl PostgresStore {
    async fn begin(
        &self,
        operation: &'static str,
    ) -> Result<Transaction<'_, Postgres>, ArchiveError> {
        self.pool.begin().await.during(operation)
    }

    /// Whether the server would be asked for one more connection.
    pub(crate) fn has_room(&self) -> bool {
        self.pool.size() < self.pool.options().get_max_connections()
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// Makes sure that of those who make a conversation and those who forget it only one goes on, until
/// its transaction ends. Everybody else holds the conversation's row.
async fn alone_with_name(
    transaction: &mut Transaction<'_, Postgres>,
    namespace: &str,
    conversation: &str,
    operation: &'static str,
) -> Result<(), ArchiveError> {
    let [a, b, c, d, e, f, g, h, ..] = name_digest(namespace, conversation);
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(i64::from_le_bytes([a, b, c, d, e, f, g, h]))
        .execute(&mut **transaction)
        .await
        .during(operation)?;
    Ok(())
}
