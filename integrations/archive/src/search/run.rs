//! Runs a search: asks the index and compares vectors, reads the best hits of both, ranks them.

use cupel::relevance::Lexical;
use futures::future::{OptionFuture, join};

use super::hits::{Hits, merged, with_neighbours};
use super::query::{Search, SearchHit};
use super::rank::{self, Meaning};
use crate::blocking::off_executor;
use crate::error::Result;
use crate::index;
use crate::meaning::MeaningState;
use crate::store::{ConversationSize, Row, SearchReader, SearchScope, Store};

/// Searches one conversation of a namespace, or all.
pub(crate) async fn run(
    store: &Store,
    meaning: Option<&MeaningState>,
    judge: Lexical,
    namespace: &str,
    conversation: Option<&str>,
    search: Search,
) -> Result<Vec<SearchHit>> {
    let mut asked = judge.asked_terms(&search.question);
    asked.truncate(Search::MOST_WORDS);
    // In the judge's order, since the statistics go back to it; a term that no index holds has none.
    let words: Vec<Option<String>> = asked.iter().map(|term| index::word(term)).collect();
    if words.iter().all(Option::is_none) || search.limit == 0 {
        return Ok(Vec::new());
    }
    // Beside each other: the one waits for a model, the other for the index.
    let closeness = meaning.map(|it| it.closeness(store, (namespace, conversation), &search));
    let by_words = by_words(store, namespace, conversation, &words, &search, meaning.is_some());
    let (by_words, closeness) = join(by_words, OptionFuture::from(closeness)).await;
    let closeness = closeness.flatten();
    let meaning = meaning.zip(closeness);
    let meaning = meaning.map(|(it, closeness)| Meaning::new(closeness, it.weight(), it.range()));
    let (scope, mut hits, reader) = match by_words? {
        Found::Nothing => return Ok(Vec::new()),
        Found::Whole { id, rows } => {
            let name = conversation.unwrap_or_default().to_owned();
            let rank = move |rows: &[Row]| {
                rank::whole(&judge, &search, (id, &name), meaning.as_ref(), rows)
            };
            return ranked(rows, rank).await;
        }
        Found::Hits { scope, hits, reader } => (scope, hits, reader),
    };
    let mut places = hits.best(search.read);
    if let Some(meaning) = &meaning {
        places = merged(&places, &meaning.best(search.read), search.read);
    }
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let mut reader = match reader {
        Some(reader) => reader,
        None => store.reader(namespace).await?,
    };
    let rows = reader.texts(scope, &with_neighbours(places)).await?;
    drop(reader);
    let name = conversation.map(str::to_owned);
    let rank = move |rows: &[Row]| {
        rank::hits(&judge, &search, (scope, name.as_deref()), &hits, meaning.as_ref(), rows)
    };
    ranked(rows, rank).await
}

/// Result of looking for the words of a question.
enum Found<'s> {
    Nothing,
    /// All messages of a short conversation.
    Whole {
        id: i64,
        rows: Vec<Row>,
    },
    Hits {
        scope: SearchScope,
        hits: Hits,
        reader: Option<SearchReader<'s>>,
    },
}

/// Asks the index, or reads a short conversation. The connection goes back if something else is to be
/// waited for.
async fn by_words<'s>(
    store: &'s Store,
    namespace: &'s str,
    conversation: Option<&str>,
    words: &[Option<String>],
    search: &Search,
    waits: bool,
) -> Result<Found<'s>> {
    let mut reader = store.reader(namespace).await?;
    let scope = match conversation {
        None => SearchScope::Namespace,
        Some(name) => match reader.look(name, search).await? {
            None => return Ok(Found::Nothing),
            Some(ConversationSize::Short { id, rows }) => return Ok(Found::Whole { id, rows }),
            Some(ConversationSize::Long(scope)) => scope,
        },
    };
    let hits = reader.hits(scope, words, search).await?;
    Ok(Found::Hits { scope, hits, reader: (!waits).then_some(reader) })
}

/// Nanoseconds for ranking a byte of a message.
const RANKED_BYTE: usize = 40;

/// Ranks rows.
async fn ranked(
    rows: Vec<Row>,
    rank: impl FnOnce(&[Row]) -> Result<Vec<SearchHit>> + Send + 'static,
) -> Result<Vec<SearchHit>> {
    let bytes: usize = rows.iter().map(|row| row.content().map_or(0, str::len)).sum();
    off_executor("search", bytes.saturating_mul(RANKED_BYTE), move || rank(&rows)).await
}
