//! Erases messages in PostgreSQL.

use sqlx::Transaction;
use sqlx::postgres::Postgres;

use super::append::locked;
use super::{PostgresStore, alone_with_name};
use crate::digest::name_digest;
use crate::erase::Erased;
use crate::error::ArchiveError;
use crate::message::Stored;
use crate::search::MessageRow as _;
use crate::store::row::During as _;

const ERASE: &str = "erase";
const POP: &str = "pop";

impl PostgresStore {
    pub(crate) async fn pop(
        &self,
        namespace: &str,
        conversation: &str,
    ) -> Result<Option<Stored>, ArchiveError> {
        let mut transaction = self.begin(POP).await?;
        let Some((id, _)) = locked(&mut transaction, namespace, conversation, POP).await? else {
            return Ok(None);
        };
        let row = sqlx::query(
            "DELETE FROM cupel_messages WHERE conversation = $1 AND number = (
                 SELECT max(number) FROM cupel_messages WHERE conversation = $1)
             RETURNING number, role, kind, tokens, time, metadata, wire, content",
        )
        .bind(id)
        .fetch_optional(&mut *transaction)
        .await
        .during(POP)?;
        let Some(row) = row else { return Ok(None) };
        let popped = row.stored()?;
        sqlx::query("DELETE FROM cupel_originals WHERE conversation = $1 AND number = $2")
            .bind(id)
            .bind(popped.number)
            .execute(&mut *transaction)
            .await
            .during(POP)?;
        sqlx::query(
            "UPDATE cupel_conversations SET messages = messages - 1, bytes = bytes - $2
             WHERE id = $1",
        )
        .bind(id)
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
        self.vacuum().await?;
        Ok(Erased { messages, log_emptied: false })
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
            "SELECT name FROM cupel_conversations
             WHERE namespace = $1 AND (oldest < $2 OR messages = 0)",
        )
        .bind(namespace)
        .bind(before)
        .fetch_all(&self.pool)
        .await
        .during(ERASE)?;
        let mut messages = 0;
        // Each in a transaction of its own, so that appends need not wait for all of it.
        for conversation in conversations {
            messages += self.erase(namespace, &conversation, before).await?;
        }
        self.vacuum().await?;
        Ok(Erased { messages, log_emptied: false })
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
        alone_with_name(&mut transaction, namespace, conversation, ERASE).await?;
        let Some((id, next)) = locked(&mut transaction, namespace, conversation, ERASE).await?
        else {
            return Ok(0);
        };
        let erased = erase_messages(&mut transaction, id, before).await?;
        sqlx::query(
            "DELETE FROM cupel_appends a WHERE conversation = $1 AND NOT EXISTS (
                 SELECT 1 FROM cupel_messages m WHERE m.conversation = $1
                   AND m.number >= a.first AND m.number < a.first + a.count)",
        )
        .bind(id)
        .execute(&mut *transaction)
        .await
        .during(ERASE)?;
        let (left, oldest, bytes): (i64, Option<i64>, i64) = sqlx::query_as(
            "SELECT count(*), min(time),
                    coalesce(sum(octet_length(content) + coalesce(octet_length(wire), 0)), 0)
             FROM cupel_messages WHERE conversation = $1",
        )
        .bind(id)
        .fetch_one(&mut *transaction)
        .await
        .during(ERASE)?;
        if left == 0 {
            sqlx::query(
                "INSERT INTO cupel_retired (name, next) VALUES ($1, $2)
                 ON CONFLICT (name) DO UPDATE SET next = excluded.next",
            )
            .bind(name_digest(namespace, conversation).as_slice())
            .bind(next)
            .execute(&mut *transaction)
            .await
            .during(ERASE)?;
            sqlx::query("DELETE FROM cupel_conversations WHERE id = $1")
                .bind(id)
                .execute(&mut *transaction)
                .await
                .during(ERASE)?;
        } else {
            sqlx::query(
                "UPDATE cupel_conversations SET messages = $2, oldest = $3, bytes = $4
                 WHERE id = $1",
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

    /// Lets the server clear what no transaction sees any more, instead of waiting until it does so
    /// by itself. It warns, and does not fail, where the role does not own the tables.
    async fn vacuum(&self) -> Result<(), ArchiveError> {
        sqlx::query("VACUUM (SKIP_LOCKED) cupel_messages, cupel_originals, cupel_appends, cupel_conversations")
            .execute(&self.pool)
            .await
            .during(ERASE)?;
        Ok(())
    }

    /// Writes the tables anew: their old files, with the room that erased rows left, are gone then.
    pub(crate) async fn scrub(&self) -> Result<(), ArchiveError> {
        for rewrite in [
            "VACUUM (FULL) cupel_messages",
            "VACUUM (FULL) cupel_originals",
            "VACUUM (FULL) cupel_appends",
            "VACUUM (FULL) cupel_conversations",
        ] {
            sqlx::query(rewrite).execute(&self.pool).await.during("scrub")?;
        }
        Ok(())
    }
}

/// Erases messages with all that was kept about them.
async fn erase_messages(
    transaction: &mut Transaction<'_, Postgres>,
    conversation: i64,
    before: i64,
) -> Result<u64, ArchiveError> {
    sqlx::query(
        "DELETE FROM cupel_originals o USING cupel_messages m
         WHERE o.conversation = $1 AND m.conversation = $1 AND m.number = o.number AND m.time < $2",
    )
    .bind(conversation)
    .bind(before)
    .execute(&mut **transaction)
    .await
    .during(ERASE)?;
    let erased = sqlx::query("DELETE FROM cupel_messages WHERE conversation = $1 AND time < $2")
        .bind(conversation)
        .bind(before)
        .execute(&mut **transaction)
        .await
        .during(ERASE)?;
    Ok(erased.rows_affected())
}
