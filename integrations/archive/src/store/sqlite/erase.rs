//! Erases messages in SQLite, also from the log.

use std::time::{Duration, Instant};

use sqlx::Transaction;
use sqlx::sqlite::Sqlite;

use super::{SqliteStore, row_number};
use crate::digest::name_digest;
use crate::erase::Erased;
use crate::error::ArchiveError;
use crate::message::Stored;
use crate::search::MessageRow as _;
use crate::store::row::During as _;

const ERASE: &str = "erase";
const POP: &str = "pop";

impl SqliteStore {
    pub(crate) async fn pop(
        &self,
        namespace: &str,
        conversation: &str,
    ) -> Result<Option<Stored>, ArchiveError> {
        let mut transaction = self.begin(POP).await?;
        let last: Option<i64> = sqlx::query_scalar(
            "SELECT m.id FROM cupel_conversations c JOIN cupel_messages m
               ON m.id >= (c.id << 32) AND m.id < ((c.id + 1) << 32)
             WHERE c.namespace = ?1 AND c.name = ?2 ORDER BY m.id DESC LIMIT 1",
        )
        .bind(namespace)
        .bind(conversation)
        .fetch_optional(&mut *transaction)
        .await
        .during(POP)?;
        let Some(last) = last else { return Ok(None) };
        let row = sqlx::query(
            "DELETE FROM cupel_messages WHERE id = ?1
             RETURNING id & 4294967295, role, kind, tokens, time, metadata, wire, content",
        )
        .bind(last)
        .fetch_one(&mut *transaction)
        .await
        .during(POP)?;
        let popped = row.stored()?;
        for statement in [
            "DELETE FROM cupel_terms WHERE rowid = ?1",
            "DELETE FROM cupel_originals WHERE message = ?1",
        ] {
            sqlx::query(statement).bind(last).execute(&mut *transaction).await.during(POP)?;
        }
        sqlx::query(
            "UPDATE cupel_conversations SET messages = messages - 1, bytes = bytes - ?2
             WHERE id = ?1 >> 32",
        )
        .bind(last)
        .bind(popped.message.size())
        .execute(&mut *transaction)
        .await
        .during(POP)?;
        transaction.commit().await.during(POP)?;
        Ok(Some(popped))
    }

    pub(crate) async fn forget(
        &self,
        namespace: &str,
        conversation: &str,
    ) -> Result<Erased, ArchiveError> {
        let messages = self.erase(namespace, conversation, i64::MAX).await?;
        Ok(Erased { messages, log_emptied: self.empty_log().await? })
    }

    pub(crate) async fn forget_all(&self, namespace: &str) -> Result<Erased, ArchiveError> {
        self.expire(namespace, i64::MAX).await
    }

    pub(crate) async fn expire(
        &self,
        namespace: &str,
        before: i64,
    ) -> Result<Erased, ArchiveError> {
        let conversations: Vec<String> = sqlx::query_scalar(
            "SELECT name FROM cupel_conversations WHERE namespace = ?1 AND (oldest < ?2 OR messages = 0)",
        )
        .bind(namespace)
        .bind(before)
        .fetch_all(&self.read)
        .await
        .during(ERASE)?;
        let mut messages = 0;
        // Each in a transaction of its own, so that appends need not wait for all of it.
        for conversation in conversations {
            messages += self.erase(namespace, &conversation, before).await?;
        }
        Ok(Erased { messages, log_emptied: self.empty_log().await? })
    }

    /// Erases a conversation's messages that were written before a time, and the conversation with
    /// its last one.
    async fn erase(
        &self,
        namespace: &str,
        conversation: &str,
        before: i64,
    ) -> Result<u64, ArchiveError> {
        let mut transaction = self.begin(ERASE).await?;
        let id: Option<i64> = sqlx::query_scalar(
            "SELECT id FROM cupel_conversations WHERE namespace = ?1 AND name = ?2",
        )
        .bind(namespace)
        .bind(conversation)
        .fetch_optional(&mut *transaction)
        .await
        .during(ERASE)?;
        let Some(id) = id else { return Ok(0) };
        let erased = erase_messages(&mut transaction, id, before).await?;
        sqlx::query(
            "DELETE FROM cupel_appends WHERE conversation = ?1 AND NOT EXISTS (
                 SELECT 1 FROM cupel_messages
                 WHERE id >= (?1 << 32) + first AND id < (?1 << 32) + first + count)",
        )
        .bind(id)
        .execute(&mut *transaction)
        .await
        .during(ERASE)?;
        let (left, oldest, bytes): (i64, Option<i64>, i64) = sqlx::query_as(
            "SELECT count(*), min(time),
                    coalesce(sum(length(content) + coalesce(length(wire), 0)), 0)
             FROM cupel_messages WHERE id >= ?1 AND id < ?2",
        )
        .bind(row_number(id, 0)?)
        .bind(row_number(id + 1, 0)?)
        .fetch_one(&mut *transaction)
        .await
        .during(ERASE)?;
        if left == 0 {
            sqlx::query(
                "INSERT INTO cupel_retired (name, next)
                 SELECT ?2, next FROM cupel_conversations WHERE id = ?1
                 ON CONFLICT (name) DO UPDATE SET next = excluded.next",
            )
            .bind(id)
            .bind(name_digest(namespace, conversation).as_slice())
            .execute(&mut *transaction)
            .await
            .during(ERASE)?;
            sqlx::query("DELETE FROM cupel_conversations WHERE id = ?1")
                .bind(id)
                .execute(&mut *transaction)
                .await
                .during(ERASE)?;
        } else {
            sqlx::query(
                "UPDATE cupel_conversations SET messages = ?2, oldest = ?3, bytes = ?4
                 WHERE id = ?1",
            )
            .bind(id)
            .bind(left)
            .bind(oldest)
            .bind(bytes)
            .execute(&mut *transaction)
            .await
            .during(ERASE)?;
        }
        transaction.commit().await.during(ERASE)?;
        Ok(erased)
    }

    /// Writes the file anew. What is deleted is overwritten anyway; this also gives the room back.
    pub(crate) async fn scrub(&self) -> Result<(), ArchiveError> {
        sqlx::query("VACUUM").execute(&self.write).await.during("scrub")?;
        self.empty_log().await?;
        Ok(())
    }

    /// Moves the log into the file and empties it: it holds what was there before.
    async fn empty_log(&self) -> Result<bool, ArchiveError> {
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

/// Erases messages with all that was kept about them.
async fn erase_messages(
    transaction: &mut Transaction<'_, Sqlite>,
    conversation: i64,
    before: i64,
) -> Result<u64, ArchiveError> {
    for statement in [
        "DELETE FROM cupel_terms WHERE rowid IN (
             SELECT id FROM cupel_messages WHERE id >= ?1 AND id < ?2 AND time < ?3)",
        "DELETE FROM cupel_originals WHERE message IN (
             SELECT id FROM cupel_messages WHERE id >= ?1 AND id < ?2 AND time < ?3)",
    ] {
        sqlx::query(statement)
            .bind(row_number(conversation, 0)?)
            .bind(row_number(conversation + 1, 0)?)
            .bind(before)
            .execute(&mut **transaction)
            .await
            .during(ERASE)?;
    }
    let erased = sqlx::query("DELETE FROM cupel_messages WHERE id >= ?1 AND id < ?2 AND time < ?3")
        .bind(row_number(conversation, 0)?)
        .bind(row_number(conversation + 1, 0)?)
        .bind(before)
        .execute(&mut **transaction)
        .await
        .during(ERASE)?;
    Ok(erased.rows_affected())
}
