//! Asks PostgreSQL's text index which messages have which words, and reads them.

use sqlx::Row as _;

use super::PostgresStore;
use crate::error::ArchiveError;
use crate::index::{conversation_word, namespace_word, tsquery_quoted};
use crate::search::{Hits, Place, Search, Text};
use crate::store::row::{During as _, stored};

const SEARCH: &str = "search";

impl PostgresStore {
    pub(crate) async fn hits(
        &self,
        namespace: &str,
        conversation: Option<&str>,
        words: &[Option<String>],
        search: &Search,
    ) -> Result<Hits, ArchiveError> {
        let mut hits = Hits::new(words.len());
        // Of the conversation that is searched, or of the one that is left out.
        let named = conversation.or(search.except.as_deref()).unwrap_or_default();
        let (id, in_one, in_all): (Option<i64>, Option<i64>, Option<i64>) = sqlx::query_as(
            "SELECT max(id) FILTER (WHERE name = $2),
                    (sum(messages) FILTER (WHERE name = $2))::bigint, sum(messages)::bigint
             FROM cupel_conversations WHERE namespace = $1 AND (name = $2 OR $3)",
        )
        .bind(namespace)
        .bind(named)
        .bind(conversation.is_none())
        .fetch_one(&self.pool)
        .await
        .during(SEARCH)?;
        let (searched, scope) = match (conversation, id) {
            (Some(_), Some(id)) => (in_one, conversation_word(id)),
            (Some(_), None) => return Ok(hits),
            (None, _) => (in_all, namespace_word(namespace)),
        };
        hits.searched = usize::try_from(searched.unwrap_or_default()).unwrap_or_default();
        let (numbers, queries): (Vec<i64>, Vec<String>) = (0..)
            .zip(words)
            .filter_map(|(number, word)| {
                let word = tsquery_quoted(word.as_deref()?);
                Some((number, format!("{} & {word}", tsquery_quoted(&scope))))
            })
            .unzip();
        let rows = sqlx::query(
            "SELECT word.number, found.conversation, found.number
             FROM unnest($1::bigint[], $2::text[]) AS word (number, query)
             CROSS JOIN LATERAL (
                 SELECT conversation, number FROM cupel_messages
                 WHERE terms @@ word.query::tsquery OFFSET 0) AS found
             WHERE found.number < $3",
        )
        .bind(numbers)
        .bind(queries)
        .bind(search.before.filter(|_| conversation.is_some()).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .during(SEARCH)?;
        let except = id.filter(|_| conversation.is_none());
        for row in rows {
            let word: i64 = row.try_get(0).during(SEARCH)?;
            let place = Place {
                conversation: row.try_get(1).during(SEARCH)?,
                number: row.try_get(2).during(SEARCH)?,
            };
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
        let (conversations, numbers): (Vec<i64>, Vec<i64>) =
            places.iter().map(|place| (place.conversation, place.number)).unzip();
        let rows = sqlx::query(
            "SELECT m.number, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire, m.content,
                    m.conversation, c.name
             FROM unnest($1::bigint[], $2::bigint[]) AS place (conversation, number)
             JOIN cupel_messages m USING (conversation, number)
             JOIN cupel_conversations c ON c.id = m.conversation
             WHERE c.namespace = $3 ORDER BY m.conversation, m.number",
        )
        .bind(conversations)
        .bind(numbers)
        .bind(namespace)
        .fetch_all(&self.pool)
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
             JOIN cupel_conversations c ON c.id = o.conversation
             JOIN cupel_messages m ON m.conversation = o.conversation AND m.number = o.number
             WHERE o.digest = $1 AND c.namespace = $2
             ORDER BY o.conversation DESC, o.number DESC LIMIT 1",
        )
        .bind(digest)
        .bind(namespace)
        .fetch_optional(&self.pool)
        .await
        .during("find an original")
    }
}
