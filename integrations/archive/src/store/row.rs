//! A message to and from a row, the same in every database.

use std::collections::BTreeMap;

use chrono::DateTime;
use cupel::ContextKind;
use sqlx::{ColumnIndex, Decode, Row, Type};

use crate::error::ArchiveError;
use crate::message::{Message, Stored, role_of};

/// What an operation was doing when the database refused.
pub(super) trait During<T> {
    fn during(self, operation: &'static str) -> Result<T, ArchiveError>;
}

impl<T> During<T> for Result<T, sqlx::Error> {
    fn during(self, operation: &'static str) -> Result<T, ArchiveError> {
        self.map_err(|error| ArchiveError::database(operation, &error))
    }
}

/// Reads the columns `number, role, kind, tokens, time, metadata, wire, content`, in this order.
pub(super) fn stored<'r, R>(row: &'r R) -> Result<Stored, ArchiveError>
where
    R: Row,
    usize: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    i16: Decode<'r, R::Database> + Type<R::Database>,
    String: Decode<'r, R::Database> + Type<R::Database>,
    Vec<u8>: Decode<'r, R::Database> + Type<R::Database>,
{
    const READ: &str = "read a message";
    let kind: String = row.try_get(2).during(READ)?;
    let time: i64 = row.try_get(4).during(READ)?;
    let metadata: Option<String> = row.try_get(5).during(READ)?;
    let wire: Option<Vec<u8>> = row.try_get(6).during(READ)?;
    let content: Vec<u8> = row.try_get(7).during(READ)?;

    let corrupt = |problem: &dyn std::fmt::Display| ArchiveError::corrupt(READ, problem);
    let mut message = Message::counted(
        role_of(row.try_get(1).during(READ)?),
        String::from_utf8(content).map_err(|error| corrupt(&error))?,
        row.try_get(3).during(READ)?,
    );
    message.kind = ContextKind::new(kind).map_err(|error| corrupt(&error))?;
    message.time =
        Some(DateTime::from_timestamp_micros(time).ok_or_else(|| corrupt(&"a time out of range"))?);
    message.metadata = match metadata {
        Some(json) => serde_json::from_str(&json).map_err(|error| corrupt(&error))?,
        None => BTreeMap::new(),
    };
    message.wire = wire.map(String::from_utf8).transpose().map_err(|error| corrupt(&error))?;
    Ok(Stored { number: row.try_get(0).during(READ)?, message })
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
