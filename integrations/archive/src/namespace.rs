//! One tenant's conversations.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::archive::Archive;
use crate::erase::EraseOutcome;
use crate::error::ArchiveError;
use crate::search::{Search, SearchHit};
use crate::shared::ArchiveState;
use crate::{names, original};

/// The handle to one tenant's conversations; see [`Archive::namespace`].
///
/// Whatever is done with it, and with the conversations it gives, sees this tenant's messages only.
#[derive(Debug, Clone)]
pub struct Namespace {
    pub(crate) shared: Arc<ArchiveState>,
    pub(crate) name: Arc<str>,
}

impl Archive {
    /// The handle to one tenant's conversations. Nothing is looked up or made yet.
    ///
    /// # Errors
    ///
    /// A name that is empty, longer than 512 bytes or holds a NUL.
    pub fn namespace(&self, name: impl Into<String>) -> Result<Namespace, ArchiveError> {
        let name = name.into();
        names::checked("namespace", &name)?;
        Ok(Namespace { shared: Arc::clone(&self.shared), name: name.into() })
    }
}

impl Namespace {
    /// The tenant's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the conversations in the order of their bytes: up to `limit` of those that come
    /// after `after`.
    ///
    /// # Errors
    ///
    /// Whatever the database says.
    pub async fn conversations(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<String>, ArchiveError> {
        let list = self.shared.store.conversations(&self.name, after.unwrap_or_default(), limit);
        self.shared.within("list conversations", list).await
    }

    /// The messages of all conversations that belong to a question, the best first; see
    /// [`ConversationHandle::search`](crate::ConversationHandle::search).
    ///
    /// # Errors
    ///
    /// Whatever the database says.
    pub async fn search(&self, search: impl Into<Search>) -> Result<Vec<SearchHit>, ArchiveError> {
        self.shared.search(&self.name, None, search.into()).await
    }

    /// The text that has a [key](crate::original::key): a tool's result, or another
    /// [original](crate::ArchiveMessage::originals), of any conversation of this tenant. None for what is
    /// no key, too.
    ///
    /// # Errors
    ///
    /// Whatever the database says.
    pub async fn original(&self, key: &str) -> Result<Option<String>, ArchiveError> {
        const FIND: &str = "find an original";
        let Some(digest) = original::digest_of_key(key) else { return Ok(None) };
        let found = self.shared.store.original(&self.name, &digest);
        let found = self.shared.within(FIND, found).await?;
        let text = found.map(String::from_utf8).transpose();
        text.map_err(|error| ArchiveError::corrupt(FIND, error))
    }

    /// Erases the messages that were written before `time`, with all that was kept about them.
    ///
    /// # Errors
    ///
    /// Whatever the database says; what was erased before stays erased.
    pub async fn expire(&self, time: DateTime<Utc>) -> Result<EraseOutcome, ArchiveError> {
        let before = time.timestamp_micros();
        self.shared.however_long(self.shared.store.expire(&self.name, before)).await
    }

    /// Erases all conversations of the tenant.
    ///
    /// # Errors
    ///
    /// Whatever the database says; what was erased before stays erased.
    pub async fn forget_all(&self) -> Result<EraseOutcome, ArchiveError> {
        self.shared.however_long(self.shared.store.expire(&self.name, i64::MAX)).await
    }
}
