//! A message to and from a row, the same in every database.

use std::collections::BTreeMap;

use chrono::DateTime;
use cupel::ContextKind;
use sqlx::{ColumnIndex, Decode, Row, Type};

use crate::error::ArchiveError;
use crate::message::{Message, Stored, role_of};
use crate::search::MessageRow;

/// What an operation was doing when the database refused.
pub(super) trait During<T> {
    fn during(self, operation: &'static str) -> Result<T, ArchiveError>;
}

impl<T> During<T> for Result<T, sqlx::Error> {
    fn during(self, operation: &'static str) -> Result<T, ArchiveError> {
        self.map_err(|error| ArchiveError::database(operation, &error))
    }
}

const READ: &str = "read a message";

/// Reads the columns `number, role, kind, tokens, time, metadata, wire, content`, in this order; a search
/// in several conversations has their ids and names behind these.
impl<R> MessageRow for R
where
    R: Row + Send + 'static,
    usize: ColumnIndex<R>,
    for<'r> i64: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> i16: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> &'r str: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> &'r [u8]: Decode<'r, R::Database> + Type<R::Database>,
{
    fn number(&self) -> Result<i64, ArchiveError> {
        self.try_get(0).during(READ)
    }

    fn tokens(&self) -> Result<i64, ArchiveError> {
        self.try_get(3).during(READ)
    }

    fn content(&self) -> Result<&str, ArchiveError> {
        text(self.try_get(7).during(READ)?)
    }

    fn stored(&self) -> Result<Stored, ArchiveError> {
        let kind: &str = self.try_get(2).during(READ)?;
        let time: i64 = self.try_get(4).during(READ)?;
        let metadata: Option<&str> = self.try_get(5).during(READ)?;
        let wire: Option<&[u8]> = self.try_get(6).during(READ)?;
        let role = role_of(self.try_get(1).during(READ)?);
        let mut message = Message::counted(role, self.content()?.to_owned(), self.tokens()?);
        message.kind = ContextKind::new(kind).map_err(corrupt)?;
        let time = DateTime::from_timestamp_micros(time);
        message.time = Some(time.ok_or_else(|| corrupt("a time out of range"))?);
        message.metadata = match metadata {
            Some(json) => serde_json::from_str(json).map_err(corrupt)?,
            None => BTreeMap::new(),
        };
        message.wire = wire.map(text).transpose()?.map(str::to_owned);
        Ok(Stored { number: self.number()?, message })
    }

    fn conversation(&self) -> Result<i64, ArchiveError> {
        self.try_get(8).during(READ)
    }

    fn conversation_name(&self) -> Result<String, ArchiveError> {
        self.try_get::<&str, _>(9).during(READ).map(str::to_owned)
    }
}

fn text(bytes: &[u8]) -> Result<&str, ArchiveError> {
    std::str::from_utf8(bytes).map_err(corrupt)
}

fn corrupt(problem: impl std::fmt::Display) -> ArchiveError {
    ArchiveError::corrupt(READ, problem)
}

/// Metadata as text; none where there is none.
pub(super) fn metadata_text(message: &Message) -> Result<Option<String>, ArchiveError> {
    if message.metadata.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_string(&message.metadata);
    text.map(Some).map_err(|error| ArchiveError::argument("metadata", error.to_string()))
}

/// The time of a message in microseconds.
pub(super) fn micros(message: &Message) -> i64 {
    message.time.map_or(0, |time| time.timestamp_micros())
}

/// A list for a statement that takes it apart again.
pub(super) fn json_list<T: serde::Serialize>(list: &[T]) -> Result<String, ArchiveError> {
    serde_json::to_string(list).map_err(|error| ArchiveError::argument("list", error.to_string()))
}
