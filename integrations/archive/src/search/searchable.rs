//! What a database does for a search.

use super::{Hits, Place, Search};
use crate::error::ArchiveError;
use crate::message::Stored;

/// A conversation of no more messages, and no more bytes, is read whole and judged in memory. Measured
/// in both databases that is faster than an index up to about 1,000 messages of 40 words, whether or
/// not the judge has seen them before; and it misses nothing.
pub(crate) const SHORT_MESSAGES: i64 = 500;
pub(crate) const SHORT_BYTES: i64 = 256 * 1024;

/// A conversation that is to be searched.
pub(crate) enum Look<R> {
    /// It is short: all its messages, in order.
    Short(Vec<R>),
    /// It is not: where it is, and how many messages it has.
    Long(Scope),
}

/// What an index is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// One conversation, of so many messages.
    Conversation { id: i64, messages: i64 },
    /// All conversations of the namespace.
    Namespace,
}

/// A database that can be searched, by one connection for all of a search.
pub(crate) trait Searchable {
    type Connection: Send;
    type Row: MessageRow;

    async fn connection(&self) -> Result<Self::Connection, ArchiveError>;

    /// Looks a conversation up, and reads it where it is short; none where there is none.
    async fn look(
        connection: &mut Self::Connection,
        namespace: &str,
        conversation: &str,
        search: &Search,
    ) -> Result<Option<Look<Self::Row>>, ArchiveError>;

    /// The messages that have the words, as the index says.
    async fn hits(
        connection: &mut Self::Connection,
        namespace: &str,
        scope: Scope,
        words: &[Option<String>],
        search: &Search,
    ) -> Result<Hits, ArchiveError>;

    /// Reads messages, in any order.
    async fn texts(
        connection: &mut Self::Connection,
        namespace: &str,
        scope: Scope,
        places: &[Place],
    ) -> Result<Vec<Self::Row>, ArchiveError>;
}

/// A message as it was read. Hundreds are judged and a few are found, so that a row is taken apart as
/// far as somebody asks.
pub(crate) trait MessageRow: Send + 'static {
    fn number(&self) -> Result<i64, ArchiveError>;
    fn tokens(&self) -> Result<i64, ArchiveError>;
    fn content(&self) -> Result<&str, ArchiveError>;
    fn stored(&self) -> Result<Stored, ArchiveError>;

    /// The conversation's id, where several were searched.
    fn conversation(&self) -> Result<i64, ArchiveError>;
    /// The conversation's name, where several were searched.
    fn conversation_name(&self) -> Result<String, ArchiveError>;
}
