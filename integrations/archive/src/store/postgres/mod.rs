//! The archive in PostgreSQL.

mod insert;
mod schema;
mod statements;

use sqlx::PgConnection;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

pub(super) use insert::insert;
pub(super) use statements::DIALECT;

use super::backend::DatabaseContext as _;
use crate::error::{ArchiveError, Result};
use crate::options::Options;

/// Connects to a server.
pub(super) async fn open(connect: &PgConnectOptions, options: &Options) -> Result<PgPool> {
    let lock_timeout = format!("{}ms", options.lock_timeout.as_millis().max(1));
    PgPoolOptions::new()
        .max_connections(options.connections)
        .acquire_timeout(options.lock_timeout)
        .after_connect(move |connection, _| {
            let lock_timeout = lock_timeout.clone();
            Box::pin(async move { settle(connection, &lock_timeout).await })
        })
        .connect_with(connect.clone())
        .await
        .during("connect")
        .map_err(ArchiveError::away)
}

/// An answer means that it is on the disk, whatever the server's configuration says; a stricter
/// one stays.
async fn settle(connection: &mut PgConnection, lock_timeout: &str) -> Result<(), sqlx::Error> {
    sqlx::query(
        "SELECT set_config('lock_timeout', $1, false),
                set_config('synchronous_commit',
                    CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
                    ELSE current_setting('synchronous_commit') END, false)",
    )
    .bind(lock_timeout)
    .execute(connection)
    .await?;
    Ok(())
}
