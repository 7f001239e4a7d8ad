//! One conversation.

use std::sync::Arc;

use crate::append::{Append, Appended};
use crate::erase::Erased;
use crate::error::ArchiveError;
use crate::message::Stored;
use crate::namespace::Namespace;
use crate::page::Page;

/// The handle to one conversation; see [`Namespace::conversation`].
#[derive(Debug, Clone)]
pub struct Conversation {
    pub(crate) namespace: Namespace,
    pub(crate) name: Arc<str>,
}

impl Conversation {
    pub(crate) fn new(namespace: Namespace, name: Arc<str>) -> Self {
        Self { namespace, name }
    }

    /// The conversation's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tenant it belongs to.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Appends messages, all or none. When this returns they are on the disk, once and in order.
    ///
    /// Of several writers each one's messages stand together. Without a
    /// [key](Append::key), an append whose answer got lost may have happened or not.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::KeyReused`], a text that is too long, or whatever the database says.
    pub async fn append(&self, append: impl Into<Append>) -> Result<Appended, ArchiveError> {
        let prepared = append.into().prepare()?;
        let shared = &self.namespace.shared;
        let append = shared.store.append(&self.namespace.name, &self.name, &prepared);
        shared.within("append", append).await
    }

    /// The latest messages, at most this many, the oldest of them first.
    ///
    /// # Errors
    ///
    /// Whatever the database says.
    pub async fn recent(&self, messages: u32) -> Result<Vec<Stored>, ArchiveError> {
        self.page(Page::latest(messages)).await
    }

    /// A part of the conversation, in its order.
    ///
    /// # Errors
    ///
    /// Whatever the database says.
    pub async fn page(&self, page: Page) -> Result<Vec<Stored>, ArchiveError> {
        let shared = &self.namespace.shared;
        let read = shared.store.page(&self.namespace.name, &self.name, page);
        shared.within("read", read).await
    }

    /// Takes the last message back and returns it. Its number is not given again.
    ///
    /// # Errors
    ///
    /// Whatever the database says.
    pub async fn pop(&self) -> Result<Option<Stored>, ArchiveError> {
        let shared = &self.namespace.shared;
        shared.within("pop", shared.store.pop(&self.namespace.name, &self.name)).await
    }

    /// Erases the conversation: its messages, what an index, a key or an original holds of them, and
    /// its name. Only a hash of the name stays, so that numbers go on where they ended if it is
    /// ever written to again.
    ///
    /// # Errors
    ///
    /// Whatever the database says.
    pub async fn forget(&self) -> Result<Erased, ArchiveError> {
        let shared = &self.namespace.shared;
        shared.however_long(shared.store.forget(&self.namespace.name, &self.name)).await
    }
}
