//! Asks FTS5 which messages have which words, and reads them.

use sqlx::Row as _;

use super::{SqliteStore, row_number};
use crate::error::ArchiveError;
use crate::index::{fts5_quoted, namespace_word};
use crate::search::{Hits, Place, Search, Text};
use crate::store::row::{During as _, json_list, stored};

const SEARCH: &str = "search";

impl SqliteStore {
    pub(crate) async fn hits(
        &self,
        namespace: &str,
        conversation: Option<&str>,
        words: &[Option<String>],
        search: &Search,
    ) -> Result<Hits, ArchiveError> {
        let mut hits = Hits::new(words.len());
        let mut connection = self.read.acquire().await.during(SEARCH)?;
        let (first, end, scope) = if let Some(name) = conversation {
            let found: Option<(i64, i64)> = sqlx::query_as(
                "SELECT id, messages FROM cupel_conversations WHERE namespace = ?1 AND name = ?2",
            )
            .bind(namespace)
            .bind(name)
            .fetch_optional(&mut *connection)
            .await
            .during(SEARCH)?;
            let Some((id, messages)) = found else { return Ok(hits) };
            hits.searched = usize::try_from(messages).unwrap_or_default();
            let end = match search.before {
                Some(number) => row_number(id, number.clamp(0, u32::MAX.into()))?,
                None => row_number(id + 1, 0)?,
            };
            // The rows of a conversation stand together, so the index goes to them at once.
            (row_number(id, 0)?, end, String::new())
        } else {
            let messages: i64 = sqlx::query_scalar(
                "SELECT coalesce(sum(messages), 0) FROM cupel_conversations WHERE namespace = ?1",
            )
            .bind(namespace)
            .fetch_one(&mut *connection)
            .await
            .during(SEARCH)?;
            hits.searched = usize::try_from(messages).unwrap_or_default();
            (0, i64::MAX, format!("{} AND ", fts5_quoted(&namespace_word(namespace))))
        };
        let except: Option<i64> = match &search.except {
            Some(name) if conversation.is_none() => sqlx::query_scalar(
                "SELECT id FROM cupel_conversations WHERE namespace = ?1 AND name = ?2",
            )
            .bind(namespace)
            .bind(name)
            .fetch_optional(&mut *connection)
            .await
            .during(SEARCH)?,
            _ => None,
        };
        let queries: Vec<Option<String>> = words
            .iter()
            .map(|word| word.as_ref().map(|word| format!("{scope}{}", fts5_quoted(word))))
            .collect();
        let rows = sqlx::query(
            "SELECT word.key, cupel_terms.rowid FROM json_each(?1) AS word CROSS JOIN cupel_terms
             WHERE word.type = 'text' AND cupel_terms MATCH word.value
               AND cupel_terms.rowid >= ?2 AND cupel_terms.rowid < ?3",
        )
        .bind(json_list(&queries)?)
        .bind(first)
        .bind(end)
        .fetch_all(&mut *connection)
        .await
        .during(SEARCH)?;
        for row in rows {
            let word: i64 = row.try_get(0).during(SEARCH)?;
            let id: i64 = row.try_get(1).during(SEARCH)?;
            let place = Place { conversation: id >> 32, number: id & i64::from(u32::MAX) };
            if Some(place.conversation) != except {
                hits.add(usize::try_from(word).unwrap_or(usize::MAX), place);
            }
        }
        Ok(hits)
    }

    pub(crate) async fn texts(
        &self,
        namespace: &str,
        places: &[Place],
    ) -> Result<Vec<Text>, ArchiveError> {
        let ids: Result<Vec<i64>, _> =
            places.iter().map(|place| row_number(place.conversation, place.number)).collect();
        let rows = sqlx::query(
            "SELECT m.id & 4294967295, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire,
                    m.content, m.id >> 32, c.name
             FROM json_each(?1) AS place CROSS JOIN cupel_messages m ON m.id = place.value
             CROSS JOIN cupel_conversations c ON c.id = m.id >> 32
             WHERE c.namespace = ?2 ORDER BY m.id",
        )
        .bind(json_list(&ids?)?)
        .bind(namespace)
        .fetch_all(&self.read)
        .await
        .during(SEARCH)?;
        rows.iter()
            .map(|row| {
                let stored = stored(row)?;
                let conversation = row.try_get(8).during(SEARCH)?;
                let place = Place { conversation, number: stored.number };
                Ok(Text { place, conversation: row.try_get(9).during(SEARCH)?, stored })
            })
            .collect()
    }

    pub(crate) async fn original(
        &self,
        namespace: &str,
        digest: &[u8],
    ) -> Result<Option<Vec<u8>>, ArchiveError> {
        sqlx::query_scalar(
            "SELECT coalesce(o.content, m.content) FROM cupel_originals o
             CROSS JOIN cupel_conversations c ON c.id = o.message >> 32
             CROSS JOIN cupel_messages m ON m.id = o.message
             WHERE o.digest = ?1 AND c.namespace = ?2 ORDER BY o.message DESC LIMIT 1",
        )
        .bind(digest)
        .bind(namespace)
        .fetch_optional(&self.read)
        .await
        .during("find an original")
    }
}
