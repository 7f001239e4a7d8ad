//! Reads conversations in SQLite.

use super::SqliteStore;
use crate::error::ArchiveError;
use crate::message::Stored;
use crate::page::{From, Page};
use crate::search::MessageRow;
use crate::store::row::During as _;

const READ: &str = "read";

/// Numbers in a file are below this.
const NUMBERS: i64 = 1 << 32;

impl SqliteStore {
    pub(crate) async fn page(
        &self,
        namespace: &str,
        conversation: &str,
        page: Page,
    ) -> Result<Vec<Stored>, ArchiveError> {
        let (query, number, backwards) = match page.from {
            From::After(number) => (
                sqlx::query(
                    "SELECT m.id & 4294967295, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire,
                            m.content
                     FROM cupel_conversations c JOIN cupel_messages m
                       ON m.id > (c.id << 32) + ?3 AND m.id < ((c.id + 1) << 32)
                     WHERE c.namespace = ?1 AND c.name = ?2 ORDER BY m.id LIMIT ?4",
                ),
                number,
                false,
            ),
            From::Before(number) => (
                sqlx::query(
                    "SELECT m.id & 4294967295, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire,
                            m.content
                     FROM cupel_conversations c JOIN cupel_messages m
                       ON m.id >= (c.id << 32) AND m.id < (c.id << 32) + ?3
                     WHERE c.namespace = ?1 AND c.name = ?2 ORDER BY m.id DESC LIMIT ?4",
                ),
                number,
                true,
            ),
        };
        let rows = query
            .bind(namespace)
            .bind(conversation)
            .bind(number.clamp(0, NUMBERS - 1))
            .bind(i64::from(page.limit))
            .fetch_all(&self.read)
            .await
            .during(READ)?;
        let mut messages = rows.iter().map(MessageRow::stored).collect::<Result<Vec<_>, _>>()?;
        if backwards {
            messages.reverse();
        }
        Ok(messages)
    }

    pub(crate) async fn conversations(
        &self,
        namespace: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<String>, ArchiveError> {
        sqlx::query_scalar(
            "SELECT name FROM cupel_conversations WHERE namespace = ?1 AND name > ?2
             ORDER BY name LIMIT ?3",
        )
        .bind(namespace)
        .bind(after)
        .bind(i64::from(limit))
        .fetch_all(&self.read)
        .await
        .during(READ)
    }
}
