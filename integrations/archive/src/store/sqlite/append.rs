//! Appends to a conversation in SQLite.

use sqlx::Transaction;
use sqlx::sqlite::Sqlite;

use super::{SqliteStore, row_number};
use crate::append::{Appended, Prepared};
use crate::digest::name_digest;
use crate::error::ArchiveError;
use crate::index::namespace_word;
use crate::message::{Message, role_number};
use crate::overlap;
use crate::store::row::{During as _, metadata_text, micros};

const APPEND: &str = "append";

impl SqliteStore {
    pub(crate) async fn append(
        &self,
        namespace: &str,
        conversation: &str,
        append: &Prepared,
    ) -> Result<Appended, ArchiveError> {
        let mut transaction = self.begin(APPEND).await?;
        let (id, next) = conversation_of(&mut transaction, namespace, conversation).await?;
        if let Some(key) = &append.key {
            let earlier: Option<(Vec<u8>, i64, i64)> = sqlx::query_as(
                "SELECT digest, first, count FROM cupel_appends
                 WHERE conversation = ?1 AND key = ?2",
            )
            .bind(id)
            .bind(&key.name)
            .fetch_optional(&mut *transaction)
            .await
            .during(APPEND)?;
            if let Some((digest, first, count)) = earlier {
                return key.again(&digest, first, count);
            }
        }
        let known = known(&mut transaction, id, append).await?;
        let new = append.messages.iter().zip(&append.digests).skip(known);
        let mut number = next;
        let (mut oldest, mut bytes) = (i64::MAX, 0);
        for (message, digest) in new {
            sqlx::query(
                "INSERT INTO cupel_messages
                     (id, role, kind, tokens, time, digest, metadata, wire, content)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )
            .bind(row_number(id, number)?)
            .bind(role_number(message.role))
            .bind(message.kind.as_str())
            .bind(message.tokens)
            .bind(micros(message))
            .bind(digest.as_slice())
            .bind(metadata_text(message)?)
            .bind(message.wire.as_deref().map(str::as_bytes))
            .bind(message.content.as_bytes())
            .execute(&mut *transaction)
            .await
            .during(APPEND)?;
            index(&mut transaction, namespace, row_number(id, number)?, append, message).await?;
            oldest = oldest.min(micros(message));
            bytes += message.size();
            number += 1;
        }
        let appended = Appended::new(next, number - next);
        sqlx::query(
            "UPDATE cupel_conversations
             SET next = ?2, messages = messages + ?3, oldest = min(oldest, ?4), bytes = bytes + ?5
             WHERE id = ?1",
        )
        .bind(id)
        .bind(number)
        .bind(appended.count())
        .bind(oldest)
        .bind(bytes)
        .execute(&mut *transaction)
        .await
        .during(APPEND)?;
        if let Some(key) = &append.key {
            sqlx::query(
                "INSERT INTO cupel_appends (conversation, key, digest, first, count)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )
            .bind(id)
            .bind(&key.name)
            .bind(key.digest.as_slice())
            .bind(next)
            .bind(appended.count())
            .execute(&mut *transaction)
            .await
            .during(APPEND)?;
        }
        transaction.commit().await.during(APPEND)?;
        Ok(appended)
    }
}

/// Puts a message's words into the index, and its originals where they are found.
async fn index(
    transaction: &mut Transaction<'_, Sqlite>,
    namespace: &str,
    id: i64,
    append: &Prepared,
    message: &Message,
) -> Result<(), ArchiveError> {
    let indexed = append.indexed(message);
    if !indexed.words.is_empty() {
        sqlx::query("INSERT INTO cupel_terms (rowid, terms) VALUES (?1, ?2)")
            .bind(id)
            .bind(format!("{} {}", namespace_word(namespace), indexed.words))
            .execute(&mut **transaction)
            .await
            .during(APPEND)?;
    }
    for (digest, text) in indexed.originals {
        sqlx::query("INSERT INTO cupel_originals (message, digest, content) VALUES (?1, ?2, ?3)")
            .bind(id)
            .bind(digest.as_slice())
            .bind(text.map(str::as_bytes))
            .execute(&mut **transaction)
            .await
            .during(APPEND)?;
    }
    Ok(())
}

/// The conversation's id and its next number; it is made where there is none.
async fn conversation_of(
    transaction: &mut Transaction<'_, Sqlite>,
    namespace: &str,
    conversation: &str,
) -> Result<(i64, i64), ArchiveError> {
    let found = sqlx::query_as(
        "SELECT id, next FROM cupel_conversations WHERE namespace = ?1 AND name = ?2",
    )
    .bind(namespace)
    .bind(conversation)
    .fetch_optional(&mut **transaction)
    .await
    .during(APPEND)?;
    if let Some(found) = found {
        return Ok(found);
    }
    sqlx::query_as(
        "INSERT INTO cupel_conversations (namespace, name, next, messages, oldest)
         VALUES (?1, ?2, coalesce((SELECT next FROM cupel_retired WHERE name = ?3), 1), 0, ?4)
         RETURNING id, next",
    )
    .bind(namespace)
    .bind(conversation)
    .bind(name_digest(namespace, conversation).as_slice())
    .bind(i64::MAX)
    .fetch_one(&mut **transaction)
    .await
    .during(APPEND)
}

/// How many of the messages, from the first, the conversation has already.
async fn known(
    transaction: &mut Transaction<'_, Sqlite>,
    conversation: i64,
    append: &Prepared,
) -> Result<usize, ArchiveError> {
    let Some((history, most)) = append.history() else { return Ok(0) };
    let latest: Vec<Vec<u8>> = sqlx::query_scalar(
        "SELECT digest FROM cupel_messages WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
    )
    .bind(row_number(conversation, 0)?)
    .bind(row_number(conversation + 1, 0)?)
    .bind(most)
    .fetch_all(&mut **transaction)
    .await
    .during(APPEND)?;
    Ok(overlap::known_of(latest, history))
}
