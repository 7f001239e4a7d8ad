//! The embedder of an open archive, with what was counted.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cupel::gather::EmbedAs;
use cupel::relevance::Vectors;
use tokio::task::JoinHandle;

use super::closeness::Closeness;
use super::embed::{EmbedFailure, embed};
use super::queue::NewMessages;
use super::{ArchiveEmbedder, EmbeddingStatus};
use crate::error::Result;
use crate::search::Search;
use crate::store::Store;

/// Bytes of questions' vectors that are remembered: the same question is often asked again at once.
const REMEMBERED: u64 = 1 << 20;

/// The embedder of an archive at work.
pub(crate) struct MeaningState {
    pub(super) settings: ArchiveEmbedder,
    pub(super) new_messages: Arc<NewMessages>,
    pub(super) counts: Arc<Counts>,
    questions: Mutex<Arc<Vectors>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) embedded: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) failures: AtomicU64,
    words_alone: AtomicU64,
}

impl MeaningState {
    pub(crate) fn new(settings: ArchiveEmbedder) -> Self {
        Self {
            settings,
            new_messages: Arc::new(NewMessages::new()),
            counts: Arc::default(),
            questions: Mutex::new(Arc::new(Vectors::with_capacity(REMEMBERED))),
            task: Mutex::new(None),
        }
    }

    /// Starts the task that embeds in the background. It is told of new messages.
    pub(crate) fn start<F>(&self, work: impl FnOnce(Arc<NewMessages>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let task = tokio::spawn(work(Arc::clone(&self.new_messages)));
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    /// Ends embedding. What is under way is left undone, and done by whoever opens the archive next.
    pub(crate) async fn stop(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
            let _ = task.await;
        }
    }

    /// Notes that a conversation has new messages.
    pub(crate) fn appended(&self, namespace: &Arc<str>, conversation: &Arc<str>) {
        self.new_messages.add(namespace, conversation);
    }

    /// Vectors of questions that were asked lately.
    fn questions(&self) -> Arc<Vectors> {
        Arc::clone(&self.questions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn forget_questions(&self) {
        let none = Arc::new(Vectors::with_capacity(REMEMBERED));
        *self.questions.lock().unwrap_or_else(PoisonError::into_inner) = none;
    }

    pub(crate) fn look_at_all(&self) {
        self.new_messages.add_all();
    }

    pub(crate) fn model(&self) -> &str {
        self.settings.embedder.model()
    }

    pub(crate) fn weight(&self) -> f64 {
        self.settings.weight
    }

    /// Cosines of texts that have nothing to do with a question, and of those that could not be closer.
    pub(crate) fn range(&self) -> (f64, f64) {
        self.settings.range
    }

    pub(crate) fn status(&self, waiting: u64) -> EmbeddingStatus {
        let Counts { embedded, refused, failures, words_alone } = &*self.counts;
        EmbeddingStatus {
            waiting,
            embedded: embedded.load(Ordering::Relaxed),
            refused: refused.load(Ordering::Relaxed),
            failures: failures.load(Ordering::Relaxed),
            words_alone: words_alone.load(Ordering::Relaxed),
        }
    }

    /// Cosines of messages with the question of a search; none while there is nothing to compare, and
    /// none, with a warning, where that is late or fails.
    pub(crate) async fn closeness(
        &self,
        store: &Store,
        names: (&str, Option<&str>),
        search: &Search,
    ) -> Option<Closeness> {
        let half = search.deadline.map(|deadline| deadline / 2);
        let within = self.settings.deadline.min(half.unwrap_or(Duration::MAX));
        let compared = self.compared(store, names, search, within);
        let (kind, problem) = match tokio::time::timeout(within, compared).await {
            Ok(Ok(Ok(closeness))) => return closeness.filter(|closeness| !closeness.is_empty()),
            Ok(Ok(Err(failure))) => (failure.kind(), failure.to_string()),
            Ok(Err(error)) => ("database", error.to_string()),
            Err(_) => ("late", format!("not done within {within:?}")),
        };
        self.counts.words_alone.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(target: "cupel", embedder = kind, "the archive is searched by words alone");
        tracing::debug!(target: "cupel", problem, "the question has no vector");
        None
    }

    async fn compared(
        &self,
        store: &Store,
        names: (&str, Option<&str>),
        search: &Search,
        within: Duration,
    ) -> Result<Result<Option<Closeness>, EmbedFailure>> {
        // Without a vector to compare with, nobody has to be asked.
        let Some(model) = store.model(self.model()).await? else { return Ok(Ok(None)) };
        let text = search.question.text();
        let questions = self.questions();
        let known = questions.get(text).filter(|it| model.check(self.model(), it.len()).is_ok());
        let question = match known {
            Some(known) => known,
            None => {
                let texts = vec![ends(text)];
                let asked = embed(&self.settings.embedder, EmbedAs::Question, texts, within).await;
                let vector = match asked.map(|mut vectors| vectors.pop().unwrap_or_default()) {
                    Ok(vector) => vector,
                    Err(failure) => return Ok(Err(failure)),
                };
                if let Err(error) = model.check(self.model(), vector.len()) {
                    return Ok(Err(EmbedFailure::Wrong(error.to_string())));
                }
                let vector: Arc<[f32]> = vector.into();
                questions.insert(text, Arc::clone(&vector));
                vector
            }
        };
        let most = self.settings.most_compared;
        store.closeness(names, model, &question, search, most).await.map(|found| Ok(Some(found)))
    }
}

/// Longest part of a question that is embedded, from either end of it. A user who pastes more asks before
/// or after it.
const QUESTION_END: usize = 1_000;

/// The question; of a long one its beginning and its end.
fn ends(text: &str) -> String {
    if text.len() <= 2 * QUESTION_END {
        return text.to_owned();
    }
    let first = (0..=QUESTION_END).rev().find_map(|end| text.get(..end));
    let last = (text.len() - QUESTION_END..text.len()).find_map(|start| text.get(start..));
    format!("{}\n{}", first.unwrap_or_default(), last.unwrap_or_default())
}

impl Drop for MeaningState {
    fn drop(&mut self) {
        let task = self.task.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        task.into_iter().for_each(|task| task.abort());
    }
}
