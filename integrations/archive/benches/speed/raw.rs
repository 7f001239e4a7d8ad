//! The same by hand: statements on the same tables, through the same kind of pool.

use cupel::relevance::Lexical;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

/// A pool and statements.
pub(crate) enum Raw {
    Sqlite { write: SqlitePool, read: SqlitePool },
    Postgres(PgPool),
}

impl Raw {
    pub(crate) async fn open(address: &str) -> Self {
        if let Some(path) = address.strip_prefix("sqlite://") {
            let options = SqliteConnectOptions::new()
                .filename(path)
                .journal_mode(SqliteJournalMode::Wal)
                .synchronous(SqliteSynchronous::Full)
                .row_buffer_size(1_024)
                .pragma("secure_delete", "ON")
                .pragma("temp_store", "MEMORY");
            let pool = async |connections| {
                let pool = SqlitePoolOptions::new().max_connections(connections);
                pool.test_before_acquire(false).connect_with(options.clone()).await.unwrap()
            };
            Self::Sqlite { write: pool(1).await, read: pool(7).await }
        } else {
            let pool = PgPoolOptions::new().max_connections(8).connect(address).await.unwrap();
            Self::Postgres(pool)
        }
    }

    /// PostgreSQL builds the index afterwards: that is faster, and the same index.
    pub(crate) async fn before_loading(&self) {
        if let Self::Postgres(pool) = self {
            sqlx::query("DROP INDEX cupel_messages_terms").execute(pool).await.unwrap();
        }
    }

    pub(crate) async fn after_loading(&self) {
        match self {
            Self::Sqlite { write, .. } => {
                sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(write).await.unwrap();
            }
            Self::Postgres(pool) => {
                let index = "CREATE INDEX cupel_messages_terms ON cupel_messages USING gin (terms)
                             WITH (fastupdate = off)";
                sqlx::query(index).execute(pool).await.unwrap();
                sqlx::query("VACUUM ANALYZE cupel_messages").execute(pool).await.unwrap();
                sqlx::query("VACUUM ANALYZE cupel_conversations").execute(pool).await.unwrap();
            }
        }
    }

    pub(crate) async fn append(&self, name: &str, text: &str) {
        let words = Lexical::new().terms(text).join(" ");
        match self {
            Self::Sqlite { write, .. } => {
                let mut transaction = write.begin_with("BEGIN IMMEDIATE").await.unwrap();
                let (id, next): (i64, i64) = sqlx::query_as(
                    "SELECT id, next FROM cupel_conversations WHERE namespace = 'bench' AND name = ?1",
                )
                .bind(name)
                .fetch_one(&mut *transaction)
                .await
                .unwrap();
                let row = (id << 32) + next;
                sqlx::query(
                    "INSERT INTO cupel_messages
                         (id, role, kind, tokens, time, digest, metadata, wire, content)
                     VALUES (?1, 1, 'Message', 60, 1, x'00', NULL, NULL, ?2)",
                )
                .bind(row)
                .bind(text.as_bytes())
                .execute(&mut *transaction)
                .await
                .unwrap();
                sqlx::query("INSERT INTO cupel_terms (rowid, terms) VALUES (?1, ?2)")
                    .bind(row)
                    .bind(format!("_nb {words}"))
                    .execute(&mut *transaction)
                    .await
                    .unwrap();
                sqlx::query(
                    "UPDATE cupel_conversations
                     SET next = next + 1, messages = messages + 1, oldest = min(oldest, 1),
                         bytes = bytes + ?2
                     WHERE id = ?1",
                )
                .bind(id)
                .bind(text.len() as i64)
                .execute(&mut *transaction)
                .await
                .unwrap();
                transaction.commit().await.unwrap();
            }
            Self::Postgres(pool) => {
                let mut transaction = pool.begin().await.unwrap();
                let (id, next): (i64, i64) = sqlx::query_as(
                    "SELECT id, next FROM cupel_conversations
                     WHERE namespace = 'bench' AND name = $1 FOR UPDATE",
                )
                .bind(name)
                .fetch_one(&mut *transaction)
                .await
                .unwrap();
                sqlx::query(
                    "WITH counted AS (UPDATE cupel_conversations
                         SET next = next + 1, messages = messages + 1, oldest = least(oldest, 1),
                             bytes = bytes + $5
                         WHERE id = $1)
                     INSERT INTO cupel_messages (conversation, number, role, kind, tokens, time,
                         digest, metadata, wire, content, terms)
                     VALUES ($1, $2, 1, 'Message', 60, 1, '\\x00', NULL, NULL, $3,
                         array_to_tsvector(string_to_array($4, ' ')))",
                )
                .bind(id)
                .bind(next)
                .bind(text.as_bytes())
                .bind(format!("_nb _c{id} {words}"))
                .bind(text.len() as i64)
                .execute(&mut *transaction)
                .await
                .unwrap();
                transaction.commit().await.unwrap();
            }
        }
    }

    pub(crate) async fn recent(&self, name: &str, messages: i64) -> usize {
        match self {
            Self::Sqlite { read, .. } => sqlx::query_as::<_, ArchiveMessage>(
                "SELECT m.id, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire, m.content
                 FROM cupel_conversations c JOIN cupel_messages m
                   ON m.id >= (c.id << 32) AND m.id < ((c.id + 1) << 32)
                 WHERE c.namespace = 'bench' AND c.name = ?1 ORDER BY m.id DESC LIMIT ?2",
            )
            .bind(name)
            .bind(messages)
            .fetch_all(read)
            .await
            .unwrap()
            .len(),
            Self::Postgres(pool) => sqlx::query_as::<_, PgMessage>(
                "SELECT number, role, kind, tokens, time, metadata, wire, content
                 FROM cupel_messages WHERE conversation = (SELECT id FROM cupel_conversations
                     WHERE namespace = 'bench' AND name = $1)
                 ORDER BY number DESC LIMIT $2",
            )
            .bind(name)
            .bind(messages)
            .fetch_all(pool)
            .await
            .unwrap()
            .len(),
        }
    }
}

pub(crate) type ArchiveMessage =
    (i64, i64, String, i64, i64, Option<String>, Option<Vec<u8>>, Vec<u8>);
pub(crate) type PgMessage = (i64, i16, String, i64, i64, Option<String>, Option<Vec<u8>>, Vec<u8>);
