//! Asks an embedding model in batches, each text once, and goes on when nobody waits any more.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::async_judge::JudgeWork;
use super::embedder::{EmbedAs, Embedder, TextHash, VectorStore};
use super::{BoxError, SourceOutcome};
use crate::relevance::Vectors;

/// Texts in one request to the model, unless set.
pub(super) const BATCH: usize = 32;
/// Most bytes of texts that wait for the model.
pub(super) const MOST_WAITING: usize = 64 << 20;
/// Requests of passages that are under way at once, unless set.
const CONCURRENCY: usize = 4;
/// Time after which a request is given up in the background, unless set.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes for the vectors of questions, which come back in each step of a loop of tools.
const QUESTION_BYTES: u64 = 4 << 20;
/// Longest part of a question that is embedded. A user who pastes more asks before or after it.
const QUESTION_END: usize = 1_000;

/// Bytes of texts that are looked up before others may run.
const READ_AT_ONCE: usize = 128 << 10;

/// A vector of a text.
type Vector = Arc<[f32]>;
/// Vectors of one batch, which several calls may wait for. Errors are texts, so that all get them.
type SharedBatch = Shared<BoxFuture<'static, Result<Arc<[Vector]>, Arc<str>>>>;

/// The model, what it has answered, and what it is being asked.
#[derive(Clone)]
pub(super) struct EmbeddingQueue {
    embedder: Arc<dyn Embedder>,
    store: Option<Arc<dyn VectorStore>>,
    passages: Arc<Vectors>,
    questions: Arc<Vectors>,
    pub(super) batch: usize,
    pub(super) timeout: Duration,
    pub(super) dimensions: Option<usize>,
    seen_dimensions: Arc<OnceLock<usize>>,
    permits: Arc<Semaphore>,
    waiting: Arc<Mutex<Waiting>>,
}

/// Text without a vector in memory, by its place among the texts of a call.
struct MissingText<'a> {
    at: usize,
    text: &'a str,
    hash: TextHash,
}

/// Texts that the model is being asked about.
#[derive(Default)]
struct Waiting {
    /// The batch of each text, and its place in it.
    batches: HashMap<TextHash, (SharedBatch, usize)>,
    bytes: usize,
}

impl EmbeddingQueue {
    pub(super) fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self {
            embedder,
            store: None,
            passages: Arc::new(Vectors::new()),
            questions: Arc::new(Vectors::with_capacity(QUESTION_BYTES)),
            batch: BATCH,
            timeout: TIMEOUT,
            dimensions: None,
            seen_dimensions: Arc::default(),
            permits: Arc::new(Semaphore::new(CONCURRENCY)),
            waiting: Arc::default(),
        }
    }

    pub(super) fn set_store(&mut self, store: Arc<dyn VectorStore>) {
        self.store = Some(store);
    }

    pub(super) fn remember(&mut self, bytes: u64) {
        self.passages = Arc::new(Vectors::with_capacity(bytes));
    }

    pub(super) fn set_concurrency(&mut self, requests: usize) {
        self.permits = Arc::new(Semaphore::new(requests));
    }

    pub(super) fn remembered(&self) -> (usize, u64) {
        (self.passages.len(), self.passages.bytes())
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Vector of a question. It goes ahead of all passages.
    pub(super) async fn question(&self, text: &str, work: &JudgeWork) -> Result<Vector, BoxError> {
        let text = ends(text);
        if let Some(known) = self.questions.get(&text).filter(|it| self.is_right(it)) {
            return Ok(known);
        }
        work.add_request();
        let answer = self.embedder.embed(EmbedAs::Question, &[&text]).await?;
        let vectors = self.checked(answer, 1)?;
        let vector = vectors.first().cloned().ok_or("the model gave no vector")?;
        self.questions.insert(&text, Arc::clone(&vector));
        Ok(vector)
    }

    /// Vectors of passages, in their order: from memory, from the store, or from the model.
    pub(super) async fn passages(
        &self,
        texts: &[&str],
        work: &JudgeWork,
    ) -> Result<Vec<Vector>, BoxError> {
        let mut found: Vec<Option<Vector>> = Vec::with_capacity(texts.len());
        let mut missing: Vec<MissingText<'_>> = Vec::new();
        let mut read = 0;
        for (at, text) in texts.iter().enumerate() {
            let known = self.known(text);
            if known.is_none() {
                missing.push(MissingText { at, text, hash: TextHash::of(text) });
            }
            found.push(known);
            // Much text lets others run in between.
            read += text.len();
            if read > READ_AT_ONCE {
                read = 0;
                tokio::task::yield_now().await;
            }
        }
        if !missing.is_empty() {
            self.load(&missing, &mut found).await;
            missing.retain(|missing| found.get(missing.at).is_none_or(Option::is_none));
        }
        work.add_cached(texts.len() - missing.len());
        if !missing.is_empty() {
            for (batch, place, at) in self.ask(&missing, work)? {
                let vectors = batch.await.map_err(|error| error.to_string())?;
                let vector = vectors.get(place).cloned();
                found.get_mut(at).into_iter().for_each(|slot| *slot = vector.clone());
            }
        }
        let vectors: Option<Vec<Vector>> = found.into_iter().collect();
        vectors.ok_or_else(|| "a text has no vector".into())
    }

    /// Vector of a passage in memory.
    fn known(&self, text: &str) -> Option<Vector> {
        self.passages.get(text).filter(|vector| self.is_right(vector))
    }

    /// Returns true if a vector has the length of the model's.
    fn is_right(&self, vector: &[f32]) -> bool {
        self.dimensions().is_none_or(|dimensions| dimensions == vector.len())
    }

    fn dimensions(&self) -> Option<usize> {
        self.dimensions.or_else(|| self.seen_dimensions.get().copied())
    }

    /// Takes from the store what is not in memory. A store that fails costs the model's work and no more.
    async fn load(&self, missing: &[MissingText<'_>], found: &mut [Option<Vector>]) {
        let Some(store) = &self.store else { return };
        let hashes: Vec<TextHash> = missing.iter().map(|missing| missing.hash).collect();
        let Ok(loaded) = store.load(self.embedder.model(), &hashes).await else {
            tracing::debug!(target: crate::diagnostics::TARGET, "vectors could not be loaded");
            return;
        };
        if loaded.len() != hashes.len() {
            return;
        }
        for (missing, vector) in missing.iter().zip(loaded) {
            let vector = vector.filter(|it| self.is_right(it)).and_then(|it| unit(&it));
            let Some(vector) = vector else { continue };
            self.passages.insert(missing.text, Arc::clone(&vector));
            found.get_mut(missing.at).into_iter().for_each(|slot| *slot = Some(vector.clone()));
        }
    }

    /// Starts to embed what is missing and not under way. Returns the batches to wait for, with the place in
    /// the batch and the place among the texts.
    fn ask(
        &self,
        missing: &[MissingText<'_>],
        work: &JudgeWork,
    ) -> Result<Vec<(SharedBatch, usize, usize)>, BoxError> {
        let runtime = Handle::try_current()
            .map_err(|_| "texts are embedded in the background, and there is no Tokio runtime")?;
        let mut waiting = self.waiting();
        let mut new: Vec<(TextHash, &str)> = Vec::new();
        let mut seen = HashSet::new();
        for MissingText { text, hash, .. } in missing {
            if !waiting.batches.contains_key(hash) && seen.insert(*hash) {
                new.push((*hash, text));
            }
        }
        let bytes: usize = new.iter().map(|(_, text)| text.len()).sum();
        if waiting.bytes.saturating_add(bytes) > MOST_WAITING {
            let (now, most) = (waiting.bytes, MOST_WAITING);
            return Err(format!(
                "{now} bytes of texts wait for the model already, the limit is {most}: it is too slow"
            )
            .into());
        }
        for chunk in new.chunks(self.batch) {
            work.add_request();
            let batch = self.start(chunk, &runtime);
            waiting.bytes += chunk.iter().map(|(_, text)| text.len()).sum::<usize>();
            for (place, (hash, _)) in chunk.iter().enumerate() {
                waiting.batches.insert(*hash, (batch.clone(), place));
            }
        }
        let asked = missing.iter().filter_map(|missing| {
            let (batch, place) = waiting.batches.get(&missing.hash)?;
            Some((batch.clone(), *place, missing.at))
        });
        Ok(asked.collect())
    }

    /// Embeds a batch in a task of its own, which goes on if the call is late.
    fn start(&self, chunk: &[(TextHash, &str)], runtime: &Handle) -> SharedBatch {
        let texts: Vec<(TextHash, String)> =
            chunk.iter().map(|(hash, text)| (*hash, (*text).to_owned())).collect();
        let batch = StartedBatch { queue: self.clone(), texts };
        let task = runtime.spawn(async move {
            let StartedBatch { queue, texts } = &batch;
            let embedded = queue.embed(texts).await;
            if let Ok(vectors) = &embedded {
                for ((_, text), vector) in texts.iter().zip(vectors.iter()) {
                    queue.passages.insert(text, Arc::clone(vector));
                }
                if let Some(store) = &queue.store {
                    queue.save(store, texts, vectors);
                }
            }
            embedded
        });
        let joined = task.map(|joined| {
            joined.unwrap_or_else(|_| Err("the model panicked, or its runtime ended".into()))
        });
        joined.boxed().shared()
    }

    /// Saves vectors in the background, a batch at a time as they come. Nobody waits for it.
    fn save(&self, store: &Arc<dyn VectorStore>, texts: &[(TextHash, String)], vectors: &[Vector]) {
        let hashes = texts.iter().map(|(hash, _)| *hash);
        let vectors: Vec<(TextHash, Vector)> = hashes.zip(vectors.iter().cloned()).collect();
        let (store, embedder) = (Arc::clone(store), Arc::clone(&self.embedder));
        let timeout = self.timeout;
        tokio::spawn(async move {
            let saving = store.save(embedder.model(), &vectors);
            if !matches!(tokio::time::timeout(timeout, saving).await, Ok(Ok(()))) {
                tracing::debug!(target: crate::diagnostics::TARGET, "vectors could not be saved");
            }
        });
    }

    /// Asks the model about passages.
    async fn embed(&self, texts: &[(TextHash, String)]) -> Result<Arc<[Vector]>, Arc<str>> {
        let _permit = self.permits.acquire().await.map_err(|_| "the judge is closed")?;
        let texts: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        let asked = self.embedder.embed(EmbedAs::Passage, &texts);
        let answer = match tokio::time::timeout(self.timeout, asked).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(SourceOutcome::of_error(&error).message().into()),
            Err(_) => return Err(format!("no answer within {:?}", self.timeout).into()),
        };
        self.checked(answer, texts.len()).map_err(|error| error.to_string().into())
    }

    /// Vectors of length one, after a check of what the model gave.
    fn checked(&self, answer: Vec<Vec<f32>>, texts: usize) -> Result<Arc<[Vector]>, BoxError> {
        if answer.len() != texts {
            let got = answer.len();
            return Err(format!("the model gave {got} vectors, expected {texts}").into());
        }
        let mut vectors = Vec::with_capacity(texts);
        for vector in answer {
            let got = vector.len();
            if got == 0 {
                return Err("the model gave a vector without numbers".into());
            }
            let seen = || *self.seen_dimensions.get_or_init(|| got);
            let expected = self.dimensions.unwrap_or_else(seen);
            if got != expected {
                return Err(format!(
                    "the model gave a vector of {got} numbers, expected {expected}; \
                     set `dimensions` to what it gives"
                )
                .into());
            }
            let vector = unit(&vector);
            vectors.push(vector.ok_or("the model gave a vector with a value that is no number")?);
        }
        Ok(vectors.into())
    }
}

/// A batch that the model is asked about. Its texts wait until it ends, or its runtime does.
struct StartedBatch {
    queue: EmbeddingQueue,
    texts: Vec<(TextHash, String)>,
}

impl Drop for StartedBatch {
    fn drop(&mut self) {
        let mut waiting = self.queue.waiting();
        for (hash, text) in &self.texts {
            waiting.batches.remove(hash);
            waiting.bytes = waiting.bytes.saturating_sub(text.len());
        }
    }
}

/// A vector with its length as one. None if a value is no number.
fn unit(vector: &[f32]) -> Option<Vector> {
    let squares = vector.iter().map(|value| f64::from(*value) * f64::from(*value));
    let length = squares.sum::<f64>().sqrt();
    if !length.is_finite() {
        return None;
    }
    let length = if length > 0.0 { length } else { 1.0 };
    Some(vector.iter().map(|value| (f64::from(*value) / length) as f32).collect())
}

/// The beginning and the end of a long question.
fn ends(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= 2 * QUESTION_END {
        return text.into();
    }
    let bound = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let head = text.get(..bound(QUESTION_END)).unwrap_or_default();
    let tail = text.get(bound(text.len() - QUESTION_END)..).unwrap_or_default();
    format!("{head}\n{tail}").into()
}

impl fmt::Debug for EmbeddingQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingQueue")
            .field("embedder", &self.embedder)
            .field("batch", &self.batch)
            .field("remembered", &self.passages)
            .finish_non_exhaustive()
    }
}
