//! The databases behind an archive: the same operations in two dialects.

mod migrate;
mod postgres;
mod row;
mod sqlite;

use cupel::relevance::{Language, Lexical};
use postgres::PostgresStore;
use sqlite::SqliteStore;

use crate::address::Address;
use crate::append::{Appended, Prepared};
use crate::archive::Options;
use crate::erase::Erased;
use crate::error::ArchiveError;
use crate::message::Stored;
use crate::page::Page;
use crate::search::{self, Found, Search};

/// One of the databases.
#[derive(Debug)]
pub(crate) enum Store {
    Sqlite(SqliteStore),
    Postgres(PostgresStore),
}

/// Does the same with whichever database it is.
macro_rules! either {
    ($self:ident, $store:ident => $doing:expr) => {
        match $self {
            Self::Sqlite($store) => $doing.await,
            Self::Postgres($store) => $doing.await,
        }
    };
}

impl Store {
    pub(crate) async fn open(address: &Address, options: &Options) -> Result<Self, ArchiveError> {
        Ok(match address {
            Address::Memory => Self::Sqlite(SqliteStore::open(None, options).await?),
            Address::File(path) => Self::Sqlite(SqliteStore::open(Some(path), options).await?),
            Address::Postgres { options: connect, .. } => {
                Self::Postgres(PostgresStore::open(connect, options).await?)
            }
        })
    }

    pub(crate) async fn append(
        &self,
        namespace: &str,
        conversation: &str,
        append: &Prepared,
    ) -> Result<Appended, ArchiveError> {
        if append.messages.is_empty() && append.key.is_none() {
            return Ok(Appended::new(1, 0));
        }
        either!(self, store => store.append(namespace, conversation, append))
    }

    pub(crate) async fn page(
        &self,
        namespace: &str,
        conversation: &str,
        page: Page,
    ) -> Result<Vec<Stored>, ArchiveError> {
        either!(self, store => store.page(namespace, conversation, page))
    }

    pub(crate) async fn conversations(
        &self,
        namespace: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<String>, ArchiveError> {
        either!(self, store => store.conversations(namespace, after, limit))
    }

    pub(crate) async fn pop(
        &self,
        namespace: &str,
        conversation: &str,
    ) -> Result<Option<Stored>, ArchiveError> {
        either!(self, store => store.pop(namespace, conversation))
    }

    pub(crate) async fn forget(
        &self,
        namespace: &str,
        conversation: &str,
    ) -> Result<Erased, ArchiveError> {
        either!(self, store => store.forget(namespace, conversation))
    }

    pub(crate) async fn forget_all(&self, namespace: &str) -> Result<Erased, ArchiveError> {
        either!(self, store => store.forget_all(namespace))
    }

    pub(crate) async fn expire(
        &self,
        namespace: &str,
        before: i64,
    ) -> Result<Erased, ArchiveError> {
        either!(self, store => store.expire(namespace, before))
    }

    pub(crate) async fn search(
        &self,
        judge: Lexical,
        namespace: &str,
        conversation: Option<&str>,
        search: Search,
    ) -> Result<Vec<Found>, ArchiveError> {
        either!(self, store => search::search(store, judge, namespace, conversation, search))
    }

    pub(crate) async fn original(
        &self,
        namespace: &str,
        digest: &[u8],
    ) -> Result<Option<Vec<u8>>, ArchiveError> {
        either!(self, store => store.original(namespace, digest))
    }

    /// The language of the index: what was set first stays.
    pub(crate) async fn language(
        &self,
        wanted: Option<Language>,
    ) -> Result<Language, ArchiveError> {
        let first = wanted.unwrap_or_default();
        let kept = either!(self, store => store.language(first.name()))?;
        let kept = kept.parse().map_err(|error| ArchiveError::corrupt("open", error))?;
        match wanted {
            Some(wanted) if wanted != kept => Err(ArchiveError::argument(
                "language",
                format!("got {wanted}, but the archive's words are kept in {kept}"),
            )),
            _ => Ok(kept),
        }
    }

    /// The same error, and whether the server is away where no connection was to be had.
    pub(crate) fn explained(&self, error: ArchiveError) -> ArchiveError {
        match self {
            Self::Postgres(store) if store.has_room() => error.away(),
            _ => error,
        }
    }

    pub(crate) async fn scrub(&self) -> Result<(), ArchiveError> {
        either!(self, store => store.scrub())
    }

    pub(crate) async fn close(&self) {
        either!(self, store => store.close());
    }
}
