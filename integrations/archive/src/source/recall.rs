//! A source of archived messages that belong to the question.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cupel::gather::{BoxError, Source};
use cupel::relevance::Question;

use super::item::{built, item};
use crate::conversation::ConversationHandle;
use crate::error::{ArchiveError, Result};
use crate::search::{Search, SearchHit};

type ConversationOf<Req> = dyn Fn(&Req) -> Option<ConversationHandle> + Send + Sync;
type QuestionOf<Req> = dyn Fn(&Req) -> Option<Question> + Send + Sync;

/// Recalls what belongs to a request's question, the best first.
///
/// Each item has its relevance as a hint, so that it competes with everything else by the layer's
/// scorer. What the source promises about its items lets a layer that
/// [selects while gathering](cupel::layer::CupelLayerBuilder::select_while_gathering) leave before
/// the archive has answered, when nothing it could say would change the selection.
///
/// See the [module](super) for an example.
#[must_use]
pub struct Recall<Req> {
    conversation_of: Arc<ConversationOf<Req>>,
    question_of: Arc<QuestionOf<Req>>,
    scope: RecallScope,
    limit: usize,
    least_tokens: i64,
    ceiling: f64,
    deadline: Duration,
}

/// Conversations to search.
#[derive(Debug, Clone, Copy)]
enum RecallScope {
    Conversation,
    Others,
    Namespace,
}

impl<Req> Recall<Req> {
    /// Recalls from the conversation of a request. A request without one, or without a question,
    /// gets nothing.
    pub fn new(
        conversation_of: impl Fn(&Req) -> Option<ConversationHandle> + Send + Sync + 'static,
        question_of: impl Fn(&Req) -> Option<Question> + Send + Sync + 'static,
    ) -> Self {
        Self {
            conversation_of: Arc::new(conversation_of),
            question_of: Arc::new(question_of),
            scope: RecallScope::Conversation,
            limit: 50,
            least_tokens: 1,
            ceiling: 1.0,
            deadline: Duration::MAX,
        }
    }

    /// Recalls from all conversations of the namespace instead of one.
    pub fn everywhere(mut self) -> Self {
        self.scope = RecallScope::Namespace;
        self
    }

    /// Recalls from all conversations of the namespace but the request's own, which is in the
    /// request anyway.
    pub fn elsewhere(mut self) -> Self {
        self.scope = RecallScope::Others;
        self
    }

    /// Brings at most this many messages; 50 unless set.
    pub fn limit(mut self, messages: usize) -> Self {
        self.limit = messages;
        self
    }

    /// Leaves out messages of fewer tokens, and promises that none is smaller; 1 unless set.
    pub fn least_tokens(mut self, tokens: i64) -> Self {
        self.least_tokens = tokens.max(1);
        self
    }

    /// Weighs what is recalled against other sources: hints are multiplied by this; 1 unless set.
    ///
    /// Where the layer's scorer is the hint alone, the source can promise it as well:
    /// `.source("recall").max_score(0.4)`.
    pub fn ceiling(mut self, score: f64) -> Self {
        self.ceiling = if score.is_nan() { 1.0 } else { score.clamp(0.0, 1.0) };
        self
    }

    /// Fails after this time, like any other failure. There is no limit unless you set one.
    ///
    /// A deadline of the [source](Source::deadline) or of the layer ends the recall as well, but the
    /// archive cannot tell that from a call that needs it no longer.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The source. It promises that no score is above 1, which holds for every scorer that is a mean of
    /// others, and no item below the [least tokens](Self::least_tokens).
    ///
    /// A recall that fails does not fail the call unless the source is made
    /// [required](Source::required). The layer logs one warning with the source's name, the reason is
    /// logged at DEBUG, and the archive [counts](crate::Archive::failed_recalls) it.
    pub fn source(self, name: impl Into<Arc<str>>) -> Source<Req>
    where
        Req: 'static,
    {
        let (ceiling, least_tokens) = (self.ceiling, self.least_tokens);
        let name = name.into();
        let source = Source::list(Arc::clone(&name), move |request: &Req| {
            let asked = (self.conversation_of)(request).zip((self.question_of)(request));
            let (scope, limit, deadline) = (self.scope, self.limit, self.deadline);
            let name = Arc::clone(&name);
            async move {
                let Some((conversation, question)) = asked else {
                    return Ok::<_, BoxError>(Vec::new());
                };
                let mut search = Search::new(question).limit(limit);
                search.deadline = Some(deadline);
                let found = recalled(&conversation, search, scope);
                let found = tokio::time::timeout(deadline, found).await;
                let found =
                    found.unwrap_or_else(|_| Err(ArchiveError::timed_out("recall", deadline)));
                let found = found.inspect_err(|error| {
                    conversation.namespace.shared.failed_recalls.fetch_add(1, Ordering::Relaxed);
                    tracing::debug!(target: "cupel", source = &*name, %error, "nothing was recalled");
                })?;
                let items = found.into_iter().filter_map(|found| {
                    let enough = found.stored.message.tokens >= least_tokens;
                    let item = enough.then(|| item(&found.conversation, found.stored)).flatten()?;
                    Some(item.future_relevance_hint(found.relevance * ceiling))
                });
                built(items)
            }
        });
        source.max_score(1.0).min_tokens(least_tokens)
    }
}

async fn recalled(
    conversation: &ConversationHandle,
    search: Search,
    scope: RecallScope,
) -> Result<Vec<SearchHit>> {
    match scope {
        RecallScope::Conversation => conversation.search(search).await,
        RecallScope::Namespace => conversation.namespace().search(search).await,
        RecallScope::Others => {
            conversation.namespace().search(search.except(conversation.name())).await
        }
    }
}

impl<Req> fmt::Debug for Recall<Req> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recall")
            .field("scope", &self.scope)
            .field("limit", &self.limit)
            .field("least_tokens", &self.least_tokens)
            .field("ceiling", &self.ceiling)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
