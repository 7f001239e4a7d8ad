//! A search, and a message that it finds.

use std::time::Duration;

use cupel::relevance::Question;

use crate::message::StoredMessage;

/// A conversation of no more messages, and no more bytes, is read whole and judged in memory. Measured
/// in both databases that is faster than an index up to about 1,000 messages of 40 words, whether or
/// not the judge has seen them before; and it misses nothing.
pub(crate) const SHORT_MESSAGES: i64 = 500;
pub(crate) const SHORT_BYTES: i64 = 256 * 1024;

/// Number of neighbours on either side that are found together with a hit.
pub(super) const NEIGHBOURS: usize = 2;

/// A message that was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchHit {
    /// The conversation it belongs to.
    pub conversation: String,
    /// The message and its number.
    pub stored: StoredMessage,
    /// Relevance to the question, above 0 and below 1. Neighbours lend to each other.
    pub relevance: f64,
    /// The words of the question that it has, the most telling first. A neighbour of what was found
    /// may have none.
    pub words: Vec<String>,
    /// Cosine of its vector and the question's, from -1 to 1; none if the search went by words alone, or
    /// the message has no vector.
    pub closeness: Option<f64>,
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
    pub(crate) words_only: bool,
    /// Time that the caller gives it, if that is known.
    pub(crate) deadline: Option<Duration>,
}

impl Search {
    /// The most words of a question that the index is asked for: the rarest decide anyway.
    pub(crate) const MOST_WORDS: usize = 48;

    /// Searches for what belongs to a question.
    pub fn new(question: impl Into<Question>) -> Self {
        Self {
            question: question.into(),
            limit: 10,
            read: 300,
            before: None,
            except: None,
            words_only: false,
            deadline: None,
        }
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

    /// Goes by words alone, also in an archive with an [embedder](crate::ArchiveBuilder::embedder).
    pub fn words_only(mut self) -> Self {
        self.words_only = true;
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
