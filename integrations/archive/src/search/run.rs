//! Runs a search: asks the index, reads the best hits, ranks them.

use cupel::relevance::Lexical;

use super::query::{Search, SearchHit};
use super::rank;
use crate::blocking::off_executor;
use crate::error::Result;
use crate::index;
use crate::store::{ConversationSize, Row, SearchScope, Store};

/// Searches one conversation of a namespace, or all.
pub(crate) async fn run(
    store: &Store,
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
    let mut reader = store.reader(namespace).await?;
    let scope = match conversation {
        None => SearchScope::Namespace,
        Some(name) => match reader.look(name, &search).await? {
            None => return Ok(Vec::new()),
            Some(ConversationSize::Short(rows)) => {
                drop(reader);
                let name = name.to_owned();
                let rank = move |rows: &[Row]| rank::whole(&judge, &search, &name, rows);
                return ranked(rows, rank).await;
            }
            Some(ConversationSize::Long(scope)) => scope,
        },
    };
    let mut hits = reader.hits(scope, &words, &search).await?;
    let places = hits.best(search.read);
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let rows = reader.texts(scope, &places).await?;
    drop(reader);
    let name = conversation.map(str::to_owned);
    ranked(rows, move |rows| rank::hits(&judge, &search, name.as_deref(), &hits, rows)).await
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
