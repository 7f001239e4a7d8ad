//! A message from a row, the same in every database.

use std::collections::BTreeMap;

use chrono::DateTime;
use cupel::ContextKind;

use super::backend::{READ, Row};
use crate::error::{ArchiveError, Result};
use crate::message::{ArchiveMessage, StoredMessage, role_of};

/// Reads the columns `number, role, kind, tokens, time, metadata, wire, content`, in this order; a search
/// in several conversations has their ids and names behind these. Hundreds are judged and a few are
/// found, so that a row is taken apart as far as somebody asks.
impl Row {
    pub(crate) fn number(&self) -> Result<i64> {
        self.get(0)
    }

    pub(crate) fn tokens(&self) -> Result<i64> {
        self.get(3)
    }

    pub(crate) fn content(&self) -> Result<&str> {
        text(self.get(7)?)
    }

    pub(crate) fn stored(&self) -> Result<StoredMessage> {
        let role = role_of(self.get(1)?);
        let mut message = ArchiveMessage::counted(role, self.content()?.to_owned(), self.tokens()?);
        message.kind = ContextKind::new(self.get::<&str>(2)?).map_err(corrupt)?;
        let time = DateTime::from_timestamp_micros(self.get(4)?);
        message.time = Some(time.ok_or_else(|| corrupt("a time out of range"))?);
        message.metadata = match self.get::<Option<&str>>(5)? {
            Some(json) => serde_json::from_str(json).map_err(corrupt)?,
            None => BTreeMap::new(),
        };
        let wire: Option<&[u8]> = self.get(6)?;
        message.wire = wire.map(text).transpose()?.map(str::to_owned);
        Ok(StoredMessage { number: self.number()?, message })
    }

    /// The conversation's id, where several were searched.
    pub(crate) fn conversation(&self) -> Result<i64> {
        self.get(8)
    }

    /// The conversation's name, where several were searched.
    pub(crate) fn conversation_name(&self) -> Result<String> {
        self.get(9)
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(corrupt)
}

fn corrupt(problem: impl std::fmt::Display) -> ArchiveError {
    ArchiveError::corrupt(READ, problem)
}
