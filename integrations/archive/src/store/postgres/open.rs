//! Connects to a server and brings the tables up to date.

use sqlx::PgConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::PostgresStore;
use super::schema::STEPS;
use crate::archive::Options;
use crate::error::ArchiveError;
use crate::store::migrate;
use crate::store::row::During as _;

const OPEN: &str = "connect";
const MIGRATE: &str = "make the tables";

/// The number under which all processes that migrate wait for each other.
const MIGRATION_LOCK: i64 = 0x63_75_70_65_6c;

impl PostgresStore {
    pub(crate) async fn open(
        connect: &PgConnectOptions,
        options: &Options,
    ) -> Result<Self, ArchiveError> {
        let lock_timeout = format!("{}ms", options.lock_timeout.as_millis().max(1));
        let pool = PgPoolOptions::new()
            .max_connections(options.connections)
            .acquire_timeout(options.lock_timeout)
            .after_connect(move |connection, _| {
                let lock_timeout = lock_timeout.clone();
                Box::pin(async move { settle(connection, &lock_timeout).await })
            })
            .connect_with(connect.clone())
            .await
            .during(OPEN)
            .map_err(ArchiveError::away)?;
        let store = Self { pool };
        store.migrate().await?;
        Ok(store)
    }

    async fn migrate(&self) -> Result<(), ArchiveError> {
        // Most of the time there is nothing to do, and nobody to wait for.
        let found = self.version().await?;
        if found > 0 && migrate::left(found, STEPS)?.is_empty() {
            return Ok(());
        }
        let mut transaction = self.begin(MIGRATE).await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)")
            .bind(MIGRATION_LOCK)
            .execute(&mut *transaction)
            .await
            .during(MIGRATE)?;
        // Asked first, because a role that may not make tables may well use them.
        let there: bool = sqlx::query_scalar("SELECT to_regclass('cupel_schema') IS NOT NULL")
            .fetch_one(&mut *transaction)
            .await
            .during(MIGRATE)?;
        if !there {
            sqlx::query("CREATE TABLE cupel_schema (version BIGINT NOT NULL)")
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
            sqlx::query("INSERT INTO cupel_schema (version) VALUES ($1)")
                .bind(version)
                .execute(&mut *transaction)
                .await
                .during(MIGRATE)?;
        }
        transaction.commit().await.during(MIGRATE)
    }

    /// The version of the tables; 0 where there are none.
    async fn version(&self) -> Result<i64, ArchiveError> {
        let there: i64 = sqlx::query_scalar("SELECT count(to_regclass('cupel_schema'))")
            .fetch_one(&self.pool)
            .await
            .during(MIGRATE)?;
        if there == 0 {
            return Ok(0);
        }
        sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM cupel_schema")
            .fetch_one(&self.pool)
            .await
            .during(MIGRATE)
    }

    /// The language that was set first.
    pub(crate) async fn language(&self, wanted: &str) -> Result<String, ArchiveError> {
        const KEPT: &str = "SELECT value FROM cupel_settings WHERE name = 'language'";
        let kept = sqlx::query_scalar(KEPT).fetch_optional(&self.pool).await.during(OPEN)?;
        if let Some(kept) = kept {
            return Ok(kept);
        }
        sqlx::query(
            "INSERT INTO cupel_settings (name, value) VALUES ('language', $1)
             ON CONFLICT (name) DO NOTHING",
        )
        .bind(wanted)
        .execute(&self.pool)
        .await
        .during(OPEN)?;
        sqlx::query_scalar(KEPT).fetch_one(&self.pool).await.during(OPEN)
    }
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
