//! Reads conversations in PostgreSQL.

use super::PostgresStore;
use crate::error::ArchiveError;
use crate::message::Stored;
use crate::page::{From, Page};
use crate::search::MessageRow;
use crate::store::row::During as _;

const READ: &str = "read";

impl PostgresStore {
    pub(crate) async fn page(
        &self,
        namespace: &str,
        conversation: &str,
        page: Page,
    ) -> Result<Vec<Stored>, ArchiveError> {
        let (query, number, backwards) = match page.from {
            From::After(number) => (
                sqlx::query(
                    "SELECT number, role, kind, tokens, time, metadata, wire, content
                     FROM cupel_messages WHERE conversation = (
                         SELECT id FROM cupel_conversations WHERE namespace = $1 AND name = $2)
                       AND number > $3 ORDER BY number LIMIT $4",
                ),
                number,
                false,
            ),
            From::Before(number) => (
                sqlx::query(
                    "SELECT number, role, kind, tokens, time, metadata, wire, content
                     FROM cupel_messages WHERE conversation = (
                         SELECT id FROM cupel_conversations WHERE namespace = $1 AND name = $2)
                       AND number < $3 ORDER BY number DESC LIMIT $4",
                ),
                number,
                true,
            ),
        };
        let rows = query
            .bind(namespace)
            .bind(conversation)
            .bind(number)
            .bind(i64::from(page.limit))
            .fetch_all(&self.pool)
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
            "SELECT name FROM cupel_conversations WHERE namespace = $1 AND name > $2
             ORDER BY name LIMIT $3",
        )
        .bind(namespace)
        .bind(after)
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await
        .during(READ)
    }
}
