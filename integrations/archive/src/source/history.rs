//! The latest messages of a conversation, as a source.

use std::sync::Arc;

use cupel::gather::{BoxError, Source};

use super::item::{built, item};
use crate::conversation::ConversationHandle;

/// A source of the latest messages of a request's conversation, at most so many, the oldest of them
/// first. A request without a conversation gets none.
///
/// The source is [required](Source::required): it is the conversation.
pub fn history<Req>(
    name: impl Into<Arc<str>>,
    messages: u32,
    conversation_of: impl Fn(&Req) -> Option<ConversationHandle> + Send + Sync + 'static,
) -> Source<Req> {
    Source::list(name, move |request: &Req| {
        let conversation = conversation_of(request);
        async move {
            let Some(conversation) = conversation else { return Ok::<_, BoxError>(Vec::new()) };
            let latest = conversation.recent(messages).await?;
            built(latest.into_iter().filter_map(|stored| item(conversation.name(), stored)))
        }
    })
    .required()
}
