//! One conversation.

use std::sync::Arc;

use crate::append::{Append, AppendOutcome, CheckedAppend};
use crate::erase::EraseOutcome;
use crate::error::ArchiveError;
use crate::message::StoredMessage;
use crate::names;
use crate::namespace::Namespace;
use crate::page::Page;
use crate::search::{Search, SearchHit};

/// The handle to one conversation; see [`Namespace::conversation`].
#[derive(Debug, Clone)]
pub struct ConversationHandle {
    pub(crate) namespace: Namespace,
    pub(crate) name: Arc<str>,
}

impl Namespace {
    /// The handle to a conversation, which begins with its first message.
    ///
    /// # Errors
    ///
    /// A name that is empty, longer than 512 bytes or holds a NUL.
    pub fn conversation(
        &self,
        name: impl Into<String>,
    ) -> Result<ConversationHandle, ArchiveError> {
        let name = name.into();
        names::checked("conversation", &name)?;
        Ok(ConversationHandle { namespace: self.clone(), name: name.into() })
    }
}

impl ConversationHandle {
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
    pub async fn append(&self, append: impl Into<Append>) -> Result<AppendOutcome, ArchiveError> {
        let prepared = self.namespace.shared.prepare(append.into()).await?;
        self.append_prepared(&prepared).await
    }

    pub(crate) async fn append_prepared(
        &self,
        append: &CheckedAppend,
    ) -> Result<AppendOutcome, ArchiveError> {
        let shared = &self.namespace.shared;
        let append = shared.store.append(&self.namespace.name, &self.name, append);
        let appended = shared.within("append", append).await?;
        if let Some(meaning) = shared.meaning.as_ref().filter(|_| appended.count() > 0) {
            meaning.appended(&self.namespace.name, &self.name);
        }
        Ok(appended)
    }

    /// The latest messages, at most this many, the oldest of them first.
    ///
    /// # Errors
    ///
    /// Whatever the database says.
    pub async fn recent(&self, messages: u32) -> Result<Vec<StoredMessage>, ArchiveError> {
        self.page(Page::latest(messages)).await
    }

    /// A part of the conversation, in its order.
    ///
    /// # Errors
    ///
    /// Whatever the database says.
    pub async fn page(&self, page: Page) -> Result<Vec<StoredMessage>, ArchiveError> {
        let shared = &self.namespace.shared;
        let read = shared.store.page(&self.namespace.name, &self.name, page);
        shared.within("read", read).await
    }

    /// The messages that belong to a question, the best first; what stands next to them is found
    /// with them. A question without any telling word finds nothing.
    ///
    /// ```
    /// use cupel_archive::{Archive, ArchiveMessage};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), cupel_archive::ArchiveError> {
    /// # let archive = Archive::open("sqlite::memory:").await?;
    /// let conversation = archive.namespace("acme")?.conversation("thread-1")?;
    /// let said = ["I am allergic to nuts.", "Noted.", "And what is the weather like?"];
    /// conversation.append(said.map(ArchiveMessage::user)).await?;
    /// let found = conversation.search("What am I allergic to?").await?;
    /// assert_eq!(found[0].stored.message.content, "I am allergic to nuts.");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Whatever the database says.
    pub async fn search(&self, search: impl Into<Search>) -> Result<Vec<SearchHit>, ArchiveError> {
        self.namespace.shared.search(&self.namespace.name, Some(&self.name), search.into()).await
    }

    /// Takes the last message back and returns it. Its number is not given again.
    ///
    /// # Errors
    ///
    /// Whatever the database says.
    pub async fn pop(&self) -> Result<Option<StoredMessage>, ArchiveError> {
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
    pub async fn forget(&self) -> Result<EraseOutcome, ArchiveError> {
        let shared = &self.namespace.shared;
        shared.however_long(shared.store.forget(&self.namespace.name, &self.name)).await
    }
}
