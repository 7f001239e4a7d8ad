//! Asks the text index which messages have which words, and reads them.

use sqlx::Row as _;

use super::Store;
use super::backend::{Arguments, Backend, Connection, DatabaseContext as _, List, Row};
use super::sqlite::row_number;
use crate::error::{ArchiveError, Result};
use crate::index::{conversation_word, fts5_quoted, namespace_word, tsquery_quoted};
use crate::search::{Hits, MOST_WITH_WORD, MessagePlace, SHORT_BYTES, SHORT_MESSAGES, Search};

const SEARCH: &str = "search";

/// A conversation that is to be searched.
pub(crate) enum ConversationSize {
    /// It is short: its id, and all its messages in order.
    Short { id: i64, rows: Vec<Row> },
    /// It is not: where it is, and how many messages it has.
    Long(SearchScope),
}

/// Part of the archive that a search covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchScope {
    /// One conversation, of so many messages.
    Conversation { id: i64, messages: i64 },
    /// All conversations of the namespace.
    Namespace,
}

/// One search, on one connection.
pub(crate) struct SearchReader<'s> {
    store: &'s Store,
    connection: Connection,
    namespace: &'s str,
}

impl Store {
    pub(crate) async fn reader<'s>(&'s self, namespace: &'s str) -> Result<SearchReader<'s>> {
        Ok(SearchReader { store: self, connection: self.connection(SEARCH).await?, namespace })
    }
}

impl SearchReader<'_> {
    /// Looks a conversation up, and reads it where it is short; none where there is none.
    pub(crate) async fn look(
        &mut self,
        conversation: &str,
        search: &Search,
    ) -> Result<Option<ConversationSize>> {
        let before = search.before.unwrap_or(i64::MAX);
        let arguments: Arguments<'_> =
            &[&self.namespace, &conversation, &SHORT_MESSAGES, &SHORT_BYTES, &before];
        let look = self.store.dialect.look;
        let mut rows = self.connection.rows(look, arguments).await?;
        let Some(first) = rows.first() else { return Ok(None) };
        if let Some(messages) = first.get(9)? {
            return Ok(Some(ConversationSize::Long(SearchScope::Conversation {
                id: first.get(8)?,
                messages,
            })));
        }
        let id = first.get(8)?;
        if first.get::<Option<i64>>(0)?.is_none() {
            rows.clear();
        }
        Ok(Some(ConversationSize::Short { id, rows }))
    }

    /// The messages that have the words, as the index says.
    pub(crate) async fn hits(
        &mut self,
        scope: SearchScope,
        words: &[Option<String>],
        search: &Search,
    ) -> Result<Hits> {
        let (messages, except) = match scope {
            SearchScope::Conversation { messages, .. } => (messages, None),
            SearchScope::Namespace => self.size_of_namespace(search).await?,
        };
        let mut hits = Hits::new(messages, words.len());
        let is_sqlite = self.connection.is_sqlite();
        // The messages among which the index looks. In SQLite a conversation's rows stand together, so
        // that the index goes to them at once; in PostgreSQL a word stands for the conversation.
        let before = search.before.unwrap_or(i64::MAX);
        let (first, end, scope_word) = match scope {
            SearchScope::Conversation { id, .. } if is_sqlite => {
                let first = row_number(id, 0)?;
                (first, first.saturating_add(before.clamp(0, 1 << 32)), None)
            }
            SearchScope::Conversation { id, .. } => (0, before, Some(conversation_word(id))),
            SearchScope::Namespace => (0, i64::MAX, Some(namespace_word(self.namespace))),
        };
        let (quoted, and): (fn(&str) -> String, &str) =
            if is_sqlite { (fts5_quoted, " AND ") } else { (tsquery_quoted, " & ") };
        let query_of = |word: &Option<String>| {
            let parts = scope_word.iter().chain([word.as_ref()?]);
            Some(parts.map(|word| quoted(word)).collect::<Vec<_>>().join(and))
        };
        let queries = List(words.iter().map(query_of).collect());
        let most = i64::try_from(MOST_WITH_WORD).unwrap_or(i64::MAX);
        let arguments: Arguments<'_> = &[&queries, &first, &end, &most];
        // A list for each word: as rows they would take longer than to be found.
        let lists = self.connection.rows(self.store.dialect.places, arguments).await?;
        let mut common = Vec::new();
        for list in &lists {
            let word = list.number()?;
            let places = places(list)?;
            if places.len() >= MOST_WITH_WORD {
                common.push(word);
            }
            let places = places.into_iter();
            hits.add(word, places.filter(|place| Some(place.conversation) != except));
        }
        for (word, query) in (0..).zip(&queries.0).filter(|(word, _)| common.contains(word)) {
            let arguments: Arguments<'_> =
                if is_sqlite { &[query, &first, &end] } else { &[query] };
            let count = self.connection.one(self.store.dialect.count, arguments).await?;
            hits.count(word, count.get(0)?);
        }
        Ok(hits)
    }

    /// Number of messages in the namespace, and the id of the conversation that is left out.
    async fn size_of_namespace(&mut self, search: &Search) -> Result<(i64, Option<i64>)> {
        const SIZE: &str = "SELECT cast(coalesce(sum(messages), 0) AS bigint),
                                   max(id) FILTER (WHERE name = $2)
                            FROM cupel_conversations WHERE namespace = $1";
        let size = self.connection.one(SIZE, &[&self.namespace, &search.except]).await?;
        Ok((size.get(0)?, size.get(1)?))
    }

    /// Reads messages, in any order.
    pub(crate) async fn texts(
        &mut self,
        scope: SearchScope,
        places: &[MessagePlace],
    ) -> Result<Vec<Row>> {
        let dialect = self.store.dialect;
        let is_sqlite = self.connection.is_sqlite();
        let number_of = |place: &MessagePlace| match is_sqlite {
            true => row_number(place.conversation, place.number),
            false => Ok(place.number),
        };
        let numbers = List(places.iter().map(number_of).collect::<Result<Vec<i64>, _>>()?);
        let conversations = List(places.iter().map(|place| place.conversation).collect::<Vec<_>>());
        // SQLite passes over arguments that its statement does not name.
        let (sql, arguments): (_, Arguments<'_>) = match &scope {
            SearchScope::Conversation { id, .. } => (dialect.texts, &[&numbers, id]),
            SearchScope::Namespace => {
                (dialect.texts_of_namespace, &[&numbers, &self.namespace, &conversations])
            }
        };
        self.connection.rows(sql, arguments).await
    }
}

/// The messages in a row of [`Dialect::places`](super::dialect::Dialect::places).
fn places(list: &Row) -> Result<Vec<MessagePlace>> {
    let place = |(conversation, number)| MessagePlace { conversation, number };
    Ok(match list {
        Backend::Sqlite(_) => {
            let ids: Vec<i64> = serde_json::from_str(list.get(1)?)
                .map_err(|error| ArchiveError::corrupt(SEARCH, error))?;
            ids.into_iter().map(|id| place((id >> 32, id & i64::from(u32::MAX)))).collect()
        }
        Backend::Postgres(row) => {
            let conversations: Vec<i64> = row.try_get(1).during(SEARCH)?;
            let numbers: Vec<i64> = row.try_get(2).during(SEARCH)?;
            conversations.into_iter().zip(numbers).map(place).collect()
        }
    })
}
