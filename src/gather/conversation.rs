//! Conversations kept in memory, as a source.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock};

use futures::stream;

use super::{CandidateStream, Source};
use crate::model::ContextItem;

/// The items of any number of conversations, in the order they were appended.
///
/// Cheap to clone; all clones share the same conversations.
///
/// ```
/// use cupel::gather::{ConversationStore, Source};
/// use cupel::ContextItem;
///
/// struct Turn { conversation: u64 }
///
/// let store = ConversationStore::new();
/// store.append(7, ContextItem::new("Where is my parcel?", 6)?);
/// let history: Source<Turn> = store.source("history", |turn: &Turn| turn.conversation);
/// assert_eq!(store.items(&7).len(), 1);
/// # let _ = history;
/// # Ok::<(), cupel::CupelError>(())
/// ```
pub struct ConversationStore<K = String> {
    conversations: Arc<RwLock<HashMap<K, Vec<ContextItem>>>>,
}

impl<K: Eq + Hash> ConversationStore<K> {
    /// A store without conversations.
    #[must_use]
    pub fn new() -> Self {
        Self { conversations: Arc::default() }
    }

    /// Adds an item to the end of a conversation, which begins with its first item.
    pub fn append(&self, conversation: K, item: ContextItem) {
        self.extend(conversation, [item]);
    }

    /// Adds several items to the end of a conversation.
    pub fn extend(&self, conversation: K, items: impl IntoIterator<Item = ContextItem>) {
        // The caller's iterator runs before the lock is taken: it may ask this very store, and a
        // panic in it leaves nothing half-written.
        let items: Vec<ContextItem> = items.into_iter().collect();
        let mut all = self.conversations.write().unwrap_or_else(PoisonError::into_inner);
        all.entry(conversation).or_default().extend(items);
    }

    /// The items of a conversation; none if there is no such conversation.
    #[must_use]
    pub fn items(&self, conversation: &K) -> Vec<ContextItem> {
        let all = self.conversations.read().unwrap_or_else(PoisonError::into_inner);
        all.get(conversation).cloned().unwrap_or_default()
    }

    /// Forgets a conversation and returns its items.
    pub fn remove(&self, conversation: &K) -> Vec<ContextItem> {
        let mut all = self.conversations.write().unwrap_or_else(PoisonError::into_inner);
        all.remove(conversation).unwrap_or_default()
    }

    /// A source that gives each request the items of its conversation. It is
    /// [required](Source::required): without its conversation, a request is another one.
    pub fn source<Req>(
        &self,
        name: impl Into<Arc<str>>,
        conversation_of: impl Fn(&Req) -> K + Send + Sync + 'static,
    ) -> Source<Req>
    where
        K: Send + Sync + 'static,
    {
        let store = self.clone();
        Source::new(name, move |request: &Req| -> CandidateStream {
            let items = store.items(&conversation_of(request));
            Box::pin(stream::iter(items.into_iter().map(Ok)))
        })
        .required()
    }
}

impl<K> Clone for ConversationStore<K> {
    fn clone(&self) -> Self {
        Self { conversations: Arc::clone(&self.conversations) }
    }
}

impl<K: Eq + Hash> Default for ConversationStore<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for ConversationStore<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.conversations.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_struct("ConversationStore").field("conversations", &all.len()).finish()
    }
}
