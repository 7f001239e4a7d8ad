//! A vector index as a source.

use std::fmt;
use std::sync::Arc;

use cupel::gather::{BoxError, CandidateSource, CandidateStream};
use cupel::tokens::{HeuristicCounter, TokenCounter as _};
use cupel::{ContextItem, ContextKind, ContextSource, CupelError};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use rig_core::completion::CompletionRequest;
use rig_core::vector_store::{VectorSearchRequest, VectorSearchResult, VectorStoreIndex};
use serde_json::Value;

use super::{ScoreScale, last_user_text};
use crate::CompletionCall;
use crate::document::ID;

/// Searches a rig vector index for what a request asks, and offers what it finds.
///
/// It searches for [the user's last words](last_user_text) unless told otherwise; a request
/// without any finds nothing. An item's relevance comes from the index's score by a
/// [`ScoreScale`], which nobody but you can know. The layer counts an item as it is rendered into
/// the request.
///
/// ```
/// use std::time::Duration;
/// use cupel::gather::Source;
/// use cupel_rig::AgentCall;
/// use cupel_rig::source::{IndexSource, ScoreScale};
/// # use rig_core::test_utils::MockEmbeddings;
/// # use rig_core::vector_store::in_memory_store::InMemoryVectorStore;
///
/// # let store = InMemoryVectorStore::<String>::from_documents([]);
/// # let embeddings = MockEmbeddings::model();
/// let index = store.index(embeddings);
/// let source: Source<AgentCall> =
///     Source::new("handbook", IndexSource::new(index, ScoreScale::CosineSimilarity).samples(12))
///         .deadline(Duration::from_millis(200));
/// # let _ = source;
/// ```
pub struct IndexSource<I: VectorStoreIndex> {
    index: Arc<I>,
    scale: ScoreScale,
    query: Query,
    search: IndexSearch<I::Filter>,
    text: Text,
}

type Query = Arc<dyn Fn(&CompletionRequest) -> Option<String> + Send + Sync>;
type IndexSearch<F> = Arc<dyn Fn(String) -> VectorSearchRequest<F> + Send + Sync>;
type Text = Arc<dyn Fn(&Value) -> String + Send + Sync>;

/// Default number of documents to ask for.
const DEFAULT_SAMPLES: u64 = 10;

impl<I: VectorStoreIndex + 'static> IndexSource<I> {
    /// Searches `index`, whose scores are of this scale.
    pub fn new(index: I, scale: ScoreScale) -> Self {
        Self {
            index: Arc::new(index),
            scale,
            query: Arc::new(last_user_text),
            search: Arc::new(|query| {
                VectorSearchRequest::builder().query(query).samples(DEFAULT_SAMPLES).build()
            }),
            text: Arc::new(text_of),
        }
    }

    /// Asks for so many documents; 10 unless set.
    #[must_use]
    pub fn samples(self, samples: u64) -> Self {
        self.search(move |query| {
            VectorSearchRequest::builder().query(query).samples(samples).build()
        })
    }

    /// Makes the search of a query: with a filter or a threshold, for instance.
    #[must_use]
    pub fn search(
        mut self,
        search: impl Fn(String) -> VectorSearchRequest<I::Filter> + Send + Sync + 'static,
    ) -> Self {
        self.search = Arc::new(search);
        self
    }

    /// Takes the query from a request; none means that there is nothing to search for.
    #[must_use]
    pub fn query(
        mut self,
        query: impl Fn(&CompletionRequest) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.query = Arc::new(query);
        self
    }

    /// Makes text of a stored document. Unless set, a string is taken as it is and anything else
    /// as JSON, as rig does it.
    #[must_use]
    pub fn text(mut self, text: impl Fn(&Value) -> String + Send + Sync + 'static) -> Self {
        self.text = Arc::new(text);
        self
    }
}

impl<R: CompletionCall, I: VectorStoreIndex + 'static> CandidateSource<R> for IndexSource<I> {
    fn candidates(&self, call: &R) -> CandidateStream {
        let Some(query) = (self.query)(call.completion()) else {
            return stream::empty().boxed();
        };
        let index = Arc::clone(&self.index);
        let search = Arc::clone(&self.search);
        let scale = self.scale.clone();
        let text = Arc::clone(&self.text);
        let found = async move {
            let found = index.top_n::<Value>(search(query)).await?;
            let items = found.into_iter().filter_map(move |found| item(found, &scale, &*text));
            Ok::<_, BoxError>(stream::iter(items.map(|item| item.map_err(BoxError::from))))
        };
        stream::once(found).try_flatten().boxed()
    }
}

fn item(
    found: VectorSearchResult<Value>,
    scale: &ScoreScale,
    text: &(dyn Fn(&Value) -> String + Send + Sync),
) -> Option<Result<ContextItem, CupelError>> {
    let VectorSearchResult { score, id, document } = found;
    let text = text(&document);
    if text.is_empty() {
        return None; // nothing to send
    }
    // What the text alone takes; the adapter counts what is sent.
    let tokens = HeuristicCounter.count(&text);
    let item = ContextItem::builder(text, tokens)
        .kind(ContextKind::document())
        .source(ContextSource::rag())
        .future_relevance_hint(scale.relevance(score))
        .metadata_entry(ID, id);
    Some(item.build())
}

fn text_of(document: &Value) -> String {
    match document {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
    }
}

impl<I: VectorStoreIndex> Clone for IndexSource<I> {
    fn clone(&self) -> Self {
        Self {
            index: Arc::clone(&self.index),
            scale: self.scale.clone(),
            query: Arc::clone(&self.query),
            search: Arc::clone(&self.search),
            text: Arc::clone(&self.text),
        }
    }
}

impl<I: VectorStoreIndex> fmt::Debug for IndexSource<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexSource").field("scale", &self.scale).finish_non_exhaustive()
    }
}
