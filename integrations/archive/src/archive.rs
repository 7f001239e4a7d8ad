//! The archive: a database, and the handles to what is in it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cupel::relevance::Language;

use crate::address::{Address, redacted};
use crate::error::ArchiveError;
use crate::meaning::{ArchiveEmbedder, MeaningState, embed_in_background};
use crate::options::Options;
use crate::shared::ArchiveState;
use crate::store::Store;

/// Conversations in a database. Cheap to clone; all clones share their connections.
///
/// Nothing can be read or written but through a [`Namespace`](crate::Namespace), one for each tenant.
///
/// ```
/// use cupel_archive::{Archive, ArchiveMessage};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), cupel_archive::ArchiveError> {
/// let archive = Archive::open("sqlite::memory:").await?; // or sqlite://file, postgres://…
/// let conversation = archive.namespace("acme")?.conversation("thread-1")?;
/// conversation.append([ArchiveMessage::user("I am allergic to nuts.")]).await?;
///
/// let latest = conversation.recent(10).await?;
/// assert_eq!((latest[0].number, latest[0].message.content.as_str()), (1, "I am allergic to nuts."));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Archive {
    pub(crate) shared: Arc<ArchiveState>,
}

/// Settings for opening an archive; see [`Archive::builder`].
#[derive(Clone)]
#[must_use]
pub struct ArchiveBuilder {
    address: String,
    options: Options,
}

impl Archive {
    /// Opens the archive at an address, and makes its tables where there are none.
    ///
    /// Addresses are `sqlite://path` (relative, or with a third slash absolute), `sqlite::memory:`
    /// and `postgres://user:password@host/database`. Tables have names that begin with `cupel_`,
    /// so a database with other tables will do.
    ///
    /// # Errors
    ///
    /// An address that is none, a database that cannot be reached, or tables of a newer version.
    pub async fn open(address: &str) -> Result<Self, ArchiveError> {
        Self::builder(address).open().await
    }

    /// Opens an archive with other settings.
    pub fn builder(address: impl Into<String>) -> ArchiveBuilder {
        ArchiveBuilder { address: address.into(), options: Options::default() }
    }

    /// Writes the tables anew, so that nothing of what was erased is left in their files.
    ///
    /// SQLite overwrites what it deletes; there, this only gives the room back. PostgreSQL leaves
    /// the bytes of deleted rows in its files until something else is written there; this is what
    /// ends it, and everybody else waits meanwhile. Its log and its backups are not touched.
    ///
    /// # Errors
    ///
    /// Whatever the database says, such as a role that does not own the tables.
    pub async fn scrub(&self) -> Result<(), ArchiveError> {
        self.shared.however_long(self.shared.store.scrub()).await
    }

    /// Number of failed [recalls](crate::source::Recall) from this archive.
    #[must_use]
    pub fn failed_recalls(&self) -> u64 {
        self.shared.failed_recalls.load(Ordering::Relaxed)
    }

    /// Closes all connections. Later calls fail; clones and handles are closed as well.
    ///
    /// Calls that are under way are waited for, however long the database takes for them; see
    /// [`close_within`](Self::close_within).
    pub async fn close(&self) {
        if let Some(meaning) = &self.shared.meaning {
            meaning.stop().await;
        }
        self.shared.store.close().await;
    }

    /// Closes all connections, and waits at most `limit` for calls that are under way. Returns false if
    /// some are left; they end with the process.
    pub async fn close_within(&self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.close()).await.is_ok()
    }
}

impl ArchiveBuilder {
    /// Sets the longest wait for a lock of somebody else and for a free connection. The default is
    /// 5 seconds.
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.options.lock_timeout = timeout;
        self
    }

    /// Sets the timeout of a call. The default is 30 seconds. Erasing has no timeout.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = timeout;
        self
    }

    /// Sets the number of connections. The default is 8. SQLite writes with one and reads with the
    /// others.
    pub fn connections(mut self, connections: u32) -> Self {
        self.options.connections = connections.max(1);
        self
    }

    /// Sets the language whose word endings a search ignores. The default is English. The language of
    /// the first opening stays with the archive.
    pub fn language(mut self, language: Language) -> Self {
        self.options.language = Some(language);
        self
    }

    /// Sets the model that embeds messages in the background, and questions of searches. Unless set,
    /// the archive is searched by words alone.
    pub fn embedder(mut self, embedder: ArchiveEmbedder) -> Self {
        self.options.embedder = Some(embedder);
        self
    }

    /// Opens the archive.
    ///
    /// # Errors
    ///
    /// As [`Archive::open`], and for settings of the embedder that cannot be.
    pub async fn open(self) -> Result<Archive, ArchiveError> {
        if let Some(embedder) = &self.options.embedder {
            embedder.check()?;
        }
        let address = Address::parse(&self.address)?;
        let store = Store::open(&address, &self.options)
            .await
            .map_err(|error| error.without(address.secret()))?;
        let language = store.language(self.options.language).await;
        let language = language.map_err(|error| error.without(address.secret()))?;
        let (timeout, failed_recalls) = (self.options.timeout, AtomicU64::new(0));
        let meaning = self.options.embedder.map(MeaningState::new);
        let shared = ArchiveState { store, language, address, timeout, failed_recalls, meaning };
        let shared = Arc::new(shared);
        if let Some(meaning) = &shared.meaning {
            let archive = Arc::downgrade(&shared);
            meaning.start(|new_messages| embed_in_background(archive, new_messages));
        }
        Ok(Archive { shared })
    }
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Archive({})", self.shared.address)
    }
}

impl fmt::Debug for ArchiveBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveBuilder")
            .field("address", &redacted(&self.address))
            .field("options", &self.options)
            .finish()
    }
}
