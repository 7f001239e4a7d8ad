//! Conversations that are not in the request, as sources.

use std::fmt;
use std::sync::Arc;

use cupel::gather::{BoxError, CandidateSource, CandidateStream};
use cupel::{ContextItem, ContextKind};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use rig_core::id::ConversationId;
use rig_core::memory::ConversationMemory;
use rig_core::message::Message;

use crate::document::ID;
use crate::{CompletionCall, RigAdapter};

/// Past messages as items, one for each exchange, for a source such as
/// [`Source::items`](cupel::gather::Source::items).
///
/// The messages are not part of the running conversation, so they go into a request as documents:
/// the model reads who said what, and none of them is pinned. Each has an id, by its number, unless
/// the adapter's attributes give it one as metadata `id`.
///
/// ```
/// use cupel::gather::Source;
/// use cupel_rig::source::history_items;
/// use cupel_rig::{AgentCall, RigAdapter};
/// use rig_core::message::Message;
///
/// let last_week = [Message::user("I am allergic to nuts."), Message::assistant("Noted.")];
/// let items = history_items(&last_week, &RigAdapter::new())?;
/// assert_eq!(items[0].content(), "[0] user: I am allergic to nuts.\n[1] assistant: Noted.");
/// let source: Source<AgentCall> = Source::items("last week", items);
/// # let _ = source;
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
///
/// # Errors
///
/// What [`Conversation::new`](cupel::conversation::Conversation::new) finds wrong.
pub fn history_items(
    messages: &[Message],
    adapter: &RigAdapter,
) -> Result<Vec<ContextItem>, BoxError> {
    items_of("memory", messages, adapter)
}

/// Each exchange has an id of its own, so that the model can tell one from another.
fn items_of(
    conversation: &str,
    messages: &[Message],
    adapter: &RigAdapter,
) -> Result<Vec<ContextItem>, BoxError> {
    let units = adapter.units(messages)?;
    let remembered = |(number, unit): (usize, ContextItem)| {
        let id = unit.metadata().get(ID).cloned();
        let id = id.unwrap_or_else(|| format!("{conversation}-{number}"));
        let item = unit.to_builder().kind(ContextKind::memory()).pinned(false);
        item.metadata_entry(ID, id).build()
    };
    Ok(units.into_iter().enumerate().map(remembered).collect::<Result<_, _>>()?)
}

/// A rig memory as a source: the exchanges of one of its conversations.
///
/// ```
/// use cupel::gather::Source;
/// use cupel_rig::AgentCall;
/// use cupel_rig::source::MemorySource;
/// use rig_core::memory::InMemoryConversationMemory;
///
/// let memory = InMemoryConversationMemory::new();
/// let source: Source<AgentCall> =
///     Source::new("earlier", MemorySource::new(memory, "thread-1"));
/// # let _ = source;
/// ```
pub struct MemorySource<M> {
    memory: Arc<M>,
    conversation: ConversationId,
    adapter: RigAdapter,
}

impl<M: ConversationMemory + 'static> MemorySource<M> {
    /// Reads this conversation of `memory`.
    pub fn new(memory: M, conversation: impl Into<ConversationId>) -> Self {
        Self {
            memory: Arc::new(memory),
            conversation: conversation.into(),
            adapter: RigAdapter::new(),
        }
    }

    /// Says what each message is worth, as the adapter of the layer does for a request's.
    #[must_use]
    pub fn adapter(mut self, adapter: RigAdapter) -> Self {
        self.adapter = adapter;
        self
    }
}

impl<R: CompletionCall, M: ConversationMemory + 'static> CandidateSource<R> for MemorySource<M> {
    fn candidates(&self, _: &R) -> CandidateStream {
        let memory = Arc::clone(&self.memory);
        let conversation = self.conversation.clone();
        let adapter = self.adapter.clone();
        let loaded = async move {
            let messages = memory.load(&conversation).await?;
            let items = items_of(conversation.as_ref(), &messages, &adapter)?;
            Ok::<_, BoxError>(stream::iter(items.into_iter().map(Ok)))
        };
        stream::once(loaded).try_flatten().boxed()
    }
}

impl<M> fmt::Debug for MemorySource<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySource")
            .field("conversation", &self.conversation)
            .finish_non_exhaustive()
    }
}
