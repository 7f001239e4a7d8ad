//! The state that all handles of an archive share.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use cupel::relevance::{Language, Lexical};

use crate::address::Address;
use crate::append::{Append, CheckedAppend};
use crate::blocking::off_executor;
use crate::error::{ArchiveError, Result};
use crate::meaning::MeaningState;
use crate::message::ArchiveMessage;
use crate::search::{self, Search, SearchHit};
use crate::store::Store;

/// Nanoseconds for checking and hashing a byte of an append.
const HASHED_BYTE: usize = 8;

/// State that all handles share.
pub(crate) struct ArchiveState {
    pub(crate) store: Store,
    pub(crate) language: Language,
    pub(crate) address: Address,
    pub(crate) timeout: Duration,
    pub(crate) failed_recalls: AtomicU64,
    /// Set with an embedder.
    pub(crate) meaning: Option<MeaningState>,
}

impl ArchiveState {
    /// Searches one conversation of a namespace, or all.
    pub(crate) async fn search(
        &self,
        namespace: &str,
        conversation: Option<&str>,
        mut search: Search,
    ) -> Result<Vec<SearchHit>> {
        let judge = Lexical::in_language(self.language);
        search.deadline = Some(search.deadline.map_or(self.timeout, |it| it.min(self.timeout)));
        let meaning = self.meaning.as_ref().filter(|_| !search.words_only);
        let found = search::run(&self.store, meaning, judge, namespace, conversation, search);
        self.within("search", found).await
    }

    /// Checks an append.
    pub(crate) async fn prepare(&self, append: Append) -> Result<CheckedAppend> {
        let bytes: usize = append.messages.iter().map(ArchiveMessage::held_bytes).sum();
        let (language, steps) = (self.language, bytes.saturating_mul(HASHED_BYTE));
        off_executor("append", steps, move || append.prepare(language)).await
    }

    /// Runs a database operation under the timeout of a call.
    pub(crate) async fn within<T>(
        &self,
        operation: &'static str,
        doing: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let may_connect = self.store.may_connect();
        let done = tokio::time::timeout(self.timeout, doing).await;
        let done = done.unwrap_or_else(|_| Err(ArchiveError::timed_out(operation, self.timeout)));
        done.map_err(|error| self.explained(error, may_connect))
    }

    /// Runs a database operation without a timeout.
    pub(crate) async fn however_long<T>(
        &self,
        doing: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let may_connect = self.store.may_connect();
        doing.await.map_err(|error| self.explained(error, may_connect))
    }

    /// Explains an error and removes the password from it. `may_connect` says if the pool could have
    /// opened another connection when the operation began.
    fn explained(&self, error: ArchiveError, may_connect: bool) -> ArchiveError {
        // A full pool whose connection has just been closed is no server that is away.
        let away = may_connect && self.store.may_connect();
        let error = if away { error.away() } else { error };
        error.without(self.address.secret())
    }
}

impl fmt::Debug for ArchiveState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)
    }
}
