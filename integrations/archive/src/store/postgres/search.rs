//! Asks PostgreSQL's text index which messages have which words, and reads them.

use sqlx::Row as _;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgRow, Postgres};

use super::PostgresStore;
use crate::error::ArchiveError;
use crate::index::{conversation_word, namespace_word, tsquery_quoted};
use crate::search::{
    Hits, Look, MOST_WITH_WORD, Place, SHORT_BYTES, SHORT_MESSAGES, Scope, Search, Searchable,
};
use crate::store::row::During as _;

const SEARCH: &str = "search";

impl Searchable for PostgresStore {
    type Connection = PoolConnection<Postgres>;
    type Row = PgRow;

    async fn connection(&self) -> Result<Self::Connection, ArchiveError> {
        self.pool.acquire().await.during(SEARCH)
    }

    async fn look(
        connection: &mut Self::Connection,
        namespace: &str,
        conversation: &str,
        search: &Search,
    ) -> Result<Option<Look<PgRow>>, ArchiveError> {
        // One row without a message where there are too many, or none.
        let mut rows = sqlx::query(
            "SELECT m.number, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire, m.content, c.id,
                    CASE WHEN c.messages > $3 OR c.bytes > $4 THEN c.messages END
             FROM cupel_conversations c LEFT JOIN cupel_messages m
               ON m.conversation = CASE WHEN c.messages <= $3 AND c.bytes <= $4 THEN c.id END
                 AND m.number < $5
             WHERE c.namespace = $1 AND c.name = $2 ORDER BY m.number",
        )
        .bind(namespace)
        .bind(conversation)
        .bind(SHORT_MESSAGES)
        .bind(SHORT_BYTES)
        .bind(search.before.unwrap_or(i64::MAX))
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
        let (mut hits, except, before, scope_word) = match scope {
            Scope::Conversation { id, messages } => {
                let before = search.before.unwrap_or(i64::MAX);
                (Hits::new(messages, words.len()), None, before, conversation_word(id))
            }
            Scope::Namespace => {
                let (messages, except): (i64, Option<i64>) = sqlx::query_as(
                    "SELECT coalesce(sum(messages), 0)::bigint, max(id) FILTER (WHERE name = $2)
                     FROM cupel_conversations WHERE namespace = $1",
                )
                .bind(namespace)
                .bind(&search.except)
                .fetch_one(&mut **connection)
                .await
                .during(SEARCH)?;
                (Hits::new(messages, words.len()), except, i64::MAX, namespace_word(namespace))
            }
        };
        let mut words: Vec<(i64, String)> = (0..)
            .zip(words)
            .filter_map(|(number, word)| {
                let word = tsquery_quoted(word.as_deref()?);
                Some((number, format!("{} & {word}", tsquery_quoted(&scope_word))))
            })
            .collect();
        let (numbers, queries): (Vec<i64>, Vec<&str>) =
            words.iter().map(|(number, query)| (*number, query.as_str())).unzip();
        // A list for each word: as rows they would take longer than to be found.
        let lists: Vec<(i64, Vec<i64>, Vec<i64>)> = sqlx::query_as(
            "SELECT word.number, found.conversations, found.numbers
             FROM unnest($1::bigint[], $2::text[]) AS word (number, query)
             CROSS JOIN LATERAL (
                 SELECT array_agg(conversation) AS conversations, array_agg(number) AS numbers
                 FROM (SELECT conversation, number FROM cupel_messages
                     WHERE terms @@ word.query::tsquery AND number < $3 LIMIT $4) AS part) AS found
             WHERE found.numbers IS NOT NULL",
        )
        .bind(numbers)
        .bind(queries)
        .bind(before)
        .bind(i64::try_from(MOST_WITH_WORD).unwrap_or(i64::MAX))
        .fetch_all(&mut **connection)
        .await
        .during(SEARCH)?;
        let mut common = Vec::new();
        for (word, conversations, numbers) in lists {
            if numbers.len() >= MOST_WITH_WORD {
                common.push(word);
            }
            let places = conversations.into_iter().zip(numbers);
            let places = places.map(|(conversation, number)| Place { conversation, number });
            hits.add(word, places.filter(|place| Some(place.conversation) != except));
        }
        words.retain(|(number, _)| common.contains(number));
        for (number, query) in words {
            let count = sqlx::query_scalar(
                "SELECT count(*) FROM cupel_messages WHERE terms @@ $1::tsquery",
            )
            .bind(query)
            .fetch_one(&mut **connection)
            .await
            .during(SEARCH)?;
            hits.count(number, count);
        }
        Ok(hits)
    }

    async fn texts(
        connection: &mut Self::Connection,
        namespace: &str,
        scope: Scope,
        places: &[Place],
    ) -> Result<Vec<PgRow>, ArchiveError> {
        let numbers: Vec<i64> = places.iter().map(|place| place.number).collect();
        let read = match scope {
            Scope::Conversation { id, .. } => sqlx::query(
                "SELECT number, role, kind, tokens, time, metadata, wire, content
                 FROM cupel_messages WHERE conversation = $1 AND number = ANY ($2)",
            )
            .bind(id)
            .bind(numbers),
            Scope::Namespace => sqlx::query(
                "SELECT m.number, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire, m.content,
                        m.conversation, c.name
                 FROM unnest($1::bigint[], $2::bigint[]) AS place (conversation, number)
                 JOIN cupel_messages m USING (conversation, number)
                 JOIN cupel_conversations c ON c.id = m.conversation
                 WHERE c.namespace = $3",
            )
            .bind(places.iter().map(|place| place.conversation).collect::<Vec<i64>>())
            .bind(numbers)
            .bind(namespace),
        };
        read.fetch_all(&mut **connection).await.during(SEARCH)
    }
}

impl PostgresStore {
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
