//! Asks FTS5 which messages have which words, and reads them.

use sqlx::Row as _;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{Sqlite, SqliteRow};

use super::{SqliteStore, row_number};
use crate::error::ArchiveError;
use crate::index::{fts5_quoted, namespace_word};
use crate::search::{
    Hits, Look, MOST_WITH_WORD, Place, SHORT_BYTES, SHORT_MESSAGES, Scope, Search, Searchable,
};
use crate::store::row::{During as _, json_list};

const SEARCH: &str = "search";

impl Searchable for SqliteStore {
    type Connection = PoolConnection<Sqlite>;
    type Row = SqliteRow;

    async fn connection(&self) -> Result<Self::Connection, ArchiveError> {
        self.read.acquire().await.during(SEARCH)
    }

    async fn look(
        connection: &mut Self::Connection,
        namespace: &str,
        conversation: &str,
        search: &Search,
    ) -> Result<Option<Look<SqliteRow>>, ArchiveError> {
        // One row without a message where there are too many, or none.
        let mut rows = sqlx::query(
            "SELECT m.id & 4294967295, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire, m.content,
                    c.id, CASE WHEN c.messages > ?3 OR c.bytes > ?4 THEN c.messages END
             FROM cupel_conversations c LEFT JOIN cupel_messages m ON m.id >= (c.id << 32)
               AND m.id < CASE WHEN c.messages <= ?3 AND c.bytes <= ?4 THEN (c.id << 32) + ?5 END
             WHERE c.namespace = ?1 AND c.name = ?2 ORDER BY m.id",
        )
        .bind(namespace)
        .bind(conversation)
        .bind(SHORT_MESSAGES)
        .bind(SHORT_BYTES)
        .bind(before(search))
        .fetch_all(&mut **connection)
        .await
        .during(SEARCH)?;
        let Some(first) = rows.first() else { return Ok(None) };
        if let Some(messages) = first.try_get(9).during(SEARCH)? {
            let id = first.try_get(8).during(SEARCH)?;
            return Ok(Some(Look::Long(Scope::Conversation { id, messages })));
        }
        if first.try_get::<Option<i64>, _>(0).during(SEARCH)?.is_none() {
            rows.clear();
        }
        Ok(Some(Look::Short(rows)))
    }

    async fn hits(
        connection: &mut Self::Connection,
        namespace: &str,
        scope: Scope,
        words: &[Option<String>],
        search: &Search,
    ) -> Result<Hits, ArchiveError> {
        let (mut hits, except, first, end, scope_word) = match scope {
            Scope::Conversation { id, messages } => {
                let first = row_number(id, 0)?;
                let end = first.saturating_add(before(search));
                // The rows of a conversation stand together, so the index goes to them at once.
                (Hits::new(messages, words.len()), None, first, end, String::new())
            }
            Scope::Namespace => {
                let (messages, except): (i64, Option<i64>) = sqlx::query_as(
                    "SELECT coalesce(sum(messages), 0), max(id) FILTER (WHERE name = ?2)
                     FROM cupel_conversations WHERE namespace = ?1",
                )
                .bind(namespace)
                .bind(&search.except)
                .fetch_one(&mut **connection)
                .await
                .during(SEARCH)?;
                let word = format!("{} AND ", fts5_quoted(&namespace_word(namespace)));
                (Hits::new(messages, words.len()), except, 0, i64::MAX, word)
            }
        };
        let queries: Vec<Option<String>> = words
            .iter()
            .map(|word| word.as_ref().map(|word| format!("{scope_word}{}", fts5_quoted(word))))
            .collect();
        // A list for each word: as rows they would take longer than to be found.
        let lists: Vec<(i64, String)> = sqlx::query_as(
            "SELECT word.key, (SELECT json_group_array(id) FROM (
                 SELECT rowid AS id FROM cupel_terms
                 WHERE cupel_terms MATCH word.value AND rowid >= ?2 AND rowid < ?3
                 ORDER BY rowid DESC LIMIT ?4))
             FROM json_each(?1) AS word WHERE word.type = 'text'",
        )
        .bind(json_list(&queries)?)
        .bind(first)
        .bind(end)
        .bind(i64::try_from(MOST_WITH_WORD).unwrap_or(i64::MAX))
        .fetch_all(&mut **connection)
        .await
        .during(SEARCH)?;
        let mut common = Vec::new();
        for (word, list) in lists {
            let ids: Vec<i64> = serde_json::from_str(&list)
                .map_err(|error| ArchiveError::corrupt(SEARCH, error))?;
            if ids.len() >= MOST_WITH_WORD {
                common.push(word);
            }
            let places = ids
                .into_iter()
                .map(|id| Place { conversation: id >> 32, number: id & i64::from(u32::MAX) });
            hits.add(word, places.filter(|place| Some(place.conversation) != except));
        }
        for (word, query) in (0..).zip(queries).filter(|(word, _)| common.contains(word)) {
            let count = sqlx::query_scalar(
                "SELECT count(*) FROM cupel_terms
                 WHERE cupel_terms MATCH ?1 AND rowid >= ?2 AND rowid < ?3",
            )
            .bind(query)
            .bind(first)
            .bind(end)
            .fetch_one(&mut **connection)
            .await
            .during(SEARCH)?;
            hits.count(word, count);
        }
        Ok(hits)
    }

    async fn texts(
        connection: &mut Self::Connection,
        namespace: &str,
        scope: Scope,
        places: &[Place],
    ) -> Result<Vec<SqliteRow>, ArchiveError> {
        let ids: Result<Vec<i64>, _> =
            places.iter().map(|place| row_number(place.conversation, place.number)).collect();
        let ids = json_list(&ids?)?;
        let read = match scope {
            Scope::Conversation { .. } => sqlx::query(
                "SELECT m.id & 4294967295, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire,
                        m.content
                 FROM json_each(?1) AS place CROSS JOIN cupel_messages m ON m.id = place.value",
            )
            .bind(ids),
            Scope::Namespace => sqlx::query(
                "SELECT m.id & 4294967295, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire,
                        m.content, m.id >> 32, c.name
                 FROM json_each(?1) AS place CROSS JOIN cupel_messages m ON m.id = place.value
                 CROSS JOIN cupel_conversations c ON c.id = m.id >> 32
                 WHERE c.namespace = ?2",
            )
            .bind(ids)
            .bind(namespace),
        };
        read.fetch_all(&mut **connection).await.during(SEARCH)
    }
}

/// The number in front of which a conversation is searched.
fn before(search: &Search) -> i64 {
    search.before.unwrap_or(i64::MAX).clamp(0, 1 << 32)
}

impl SqliteStore {
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
