//! Searching by a question.
//!
//! A short conversation is read whole and judged in memory. For others the database's index says which
//! messages have the question's words; how rare each word is in what is searched decides which few
//! hundred are read, and the core's lexical judge ranks these, with the statistics of what was
//! searched and nothing else. Neighbours of a hit are read with it: an answer stands next to what it
//! answers.

mod hits;
mod rank;

use cupel::relevance::{Lexical, Question};

pub(crate) use hits::{Hits, MOST_WITH_WORD, Place};

use crate::archive::off_executor;
use crate::error::Result;
use crate::index;
use crate::message::Stored;
use crate::store::{Look, Row, Scope, Store};

/// A conversation of no more messages, and no more bytes, is read whole and judged in memory. Measured
/// in both databases that is faster than an index up to about 1,000 messages of 40 words, whether or
/// not the judge has seen them before; and it misses nothing.
pub(crate) const SHORT_MESSAGES: i64 = 500;
pub(crate) const SHORT_BYTES: i64 = 256 * 1024;

/// Number of neighbours on either side that are found together with a hit.
const NEIGHBOURS: usize = 2;

/// A message that was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// The conversation it belongs to.
    pub conversation: String,
    /// The message and its number.
    pub stored: Stored,
    /// Relevance to the question, above 0 and below 1. Neighbours lend to each other.
    pub relevance: f64,
    /// The words of the question that it has, the most telling first. A neighbour of what was found
    /// may have none.
    pub words: Vec<String>,
}

/// A search: its question and its limits.
///
/// ```
/// use cupel_archive::Search;
///
/// let search = Search::new("Why was my card charged twice?").limit(20);
/// # let _ = search;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Search {
    pub(crate) question: Question,
    pub(crate) limit: usize,
    pub(crate) read: usize,
    pub(crate) before: Option<i64>,
    pub(crate) except: Option<String>,
}

impl Search {
    /// The most words of a question that the index is asked for: the rarest decide anyway.
    pub(crate) const MOST_WORDS: usize = 48;

    /// Searches for what belongs to a question.
    pub fn new(question: impl Into<Question>) -> Self {
        Self { question: question.into(), limit: 10, read: 300, before: None, except: None }
    }

    /// Returns at most this many messages, the best first; 10 unless set.
    pub fn limit(mut self, messages: usize) -> Self {
        self.limit = messages;
        self
    }

    /// Reads and judges at most this many of the messages that the index finds; 300 unless set.
    ///
    /// A conversation of up to 500 messages and 256 KiB is read whole instead, which takes less time
    /// than its index and misses nothing.
    pub fn read(mut self, messages: usize) -> Self {
        self.read = messages.clamp(1, 10_000);
        self
    }

    /// Searches a conversation in front of this number, such as that of the first message which
    /// the model is sent anyway.
    pub fn before(mut self, number: i64) -> Self {
        self.before = Some(number);
        self
    }

    /// Leaves out this conversation when all of a namespace are searched.
    pub fn except(mut self, conversation: impl Into<String>) -> Self {
        self.except = Some(conversation.into());
        self
    }
}

impl<Q: Into<Question>> From<Q> for Search {
    fn from(question: Q) -> Self {
        Self::new(question)
    }
}

/// Searches one conversation of a namespace, or all.
pub(crate) async fn search(
    store: &Store,
    judge: Lexical,
    namespace: &str,
    conversation: Option<&str>,
    search: Search,
) -> Result<Vec<Found>> {
    let mut asked = judge.asked_terms(&search.question);
    asked.truncate(Search::MOST_WORDS);
    // In the judge's order, since the statistics go back to it; a term that no index holds has none.
    let words: Vec<Option<String>> = asked.iter().map(|term| index::word(term)).collect();
    if words.iter().all(Option::is_none) || search.limit == 0 {
        return Ok(Vec::new());
    }
    let mut reader = store.reader(namespace).await?;
    let scope = match conversation {
        None => Scope::Namespace,
        Some(name) => match reader.look(name, &search).await? {
            None => return Ok(Vec::new()),
            Some(Look::Short(rows)) => {
                drop(reader);
                let name = name.to_owned();
                let rank = move |rows: &[Row]| rank::whole(&judge, &search, &name, rows);
                return ranked(rows, rank).await;
            }
            Some(Look::Long(scope)) => scope,
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

/// Ranks rows.
async fn ranked(
    rows: Vec<Row>,
    rank: impl FnOnce(&[Row]) -> Result<Vec<Found>> + Send + 'static,
) -> Result<Vec<Found>> {
    let bytes = rows.iter().map(|row| row.content().map_or(0, str::len)).sum();
    off_executor("search", bytes, move || rank(&rows)).await
}
