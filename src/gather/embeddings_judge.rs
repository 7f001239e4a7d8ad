//! A judge that compares the vectors of a question and of texts, which an embedding model makes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::try_join;

use super::BoxError;
use super::async_judge::{AsyncJudge, JudgeWork, WaitingJudge};
use super::embedder::{Embedder, VectorStore};
use super::embedding_queue::{BATCH, EmbeddingQueue, MOST_WAITING};
use crate::relevance::{Candidate, Question, dot, pieces};

/// Texts that are compared before others may run.
const COMPARED: usize = 512;

/// Judges texts by an embedding model: how close their vectors are to the question's.
///
/// Each text is embedded once and remembered by content, in bounded memory and, with a
/// [store](Self::store), beyond the process. On the next turn only the question and what is new go to the
/// model. Long texts are embedded in [pieces](crate::relevance::pieces), and count by the closest one.
///
/// Texts without a vector are embedded in the background: a call waits for it until the
/// [deadline](WaitingJudge::deadline), and a later call finds what came too late for this one. At most
/// [64 MiB](Self::MOST_WAITING) of texts wait for the model; beyond that the judge fails at once.
///
/// An answer of the model with a wrong number of vectors, with vectors of another length than before, or
/// with values that are no numbers is an error. Then the words' hints stay, and the report has the error.
///
/// ```
/// use cupel::layer::{EmbeddingsJudge, WaitingJudge};
/// # use cupel::gather::{BoxError, EmbedAs, Embedder};
/// # struct Model;
/// # #[async_trait::async_trait]
/// # impl Embedder for Model {
/// #     fn model(&self) -> &str { "all-minilm-l6-v2" }
/// #     async fn embed(&self, _: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError> {
/// #         Ok(texts.iter().map(|_| vec![1.0]).collect())
/// #     }
/// # }
///
/// let judge = EmbeddingsJudge::new(Model).batch(64);
/// let waiting: WaitingJudge = judge.waiting(); // with half of the weight
/// # let _ = waiting;
/// ```
///
/// **What leaves the process**: the question and the texts of the candidates that compete, to wherever the
/// [`Embedder`] sends them.
#[derive(Clone)]
#[must_use]
pub struct EmbeddingsJudge {
    queue: EmbeddingQueue,
    name: String,
    range: (f64, f64),
}

impl EmbeddingsJudge {
    /// Share of the judge in a hint, in [`waiting`](Self::waiting).
    pub const WEIGHT: f64 = 0.5;
    /// Cosine from which on a text has anything to do with the question, unless set.
    pub const DEFAULT_FLOOR: f64 = 0.15;
    /// Cosine from which on a text could not be closer to the question, unless set.
    pub const DEFAULT_CEILING: f64 = 0.6;
    /// Texts in one request to the model, unless set.
    pub const DEFAULT_BATCH: usize = BATCH;
    /// Most bytes of texts that wait for the model.
    pub const MOST_WAITING: usize = MOST_WAITING;

    /// Judges by this model. Values and `Arc`s go in.
    pub fn new(embedder: impl Embedder + 'static) -> Self {
        let name = embedder.model().to_owned();
        let queue = EmbeddingQueue::new(Arc::new(embedder));
        Self { queue, name, range: (Self::DEFAULT_FLOOR, Self::DEFAULT_CEILING) }
    }

    /// Sets the name in reports; the model's unless set.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Keeps vectors in a store as well: they are loaded before a text is embedded, and saved in the
    /// background.
    pub fn store(mut self, store: impl VectorStore + 'static) -> Self {
        self.queue.set_store(Arc::new(store));
        self
    }

    /// Remembers up to so many bytes of vectors; 64 MiB unless set, some 40,000 vectors of 384 numbers.
    pub fn remember(mut self, bytes: u64) -> Self {
        self.queue.remember(bytes);
        self
    }

    /// Sets the most texts of one request; [32](Self::DEFAULT_BATCH) unless set, and at least 1.
    pub fn batch(mut self, texts: usize) -> Self {
        self.queue.batch = texts.max(1);
        self
    }

    /// Sets how many requests of passages may be under way at once; 4 unless set, and at least 1.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.queue.set_concurrency(requests.max(1));
        self
    }

    /// Sets after which time a request to the model is given up in the background; a minute unless set.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.queue.timeout = timeout;
        self
    }

    /// Sets the length of the model's vectors; that of its first answer unless set.
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.queue.dimensions = Some(dimensions);
        self
    }

    /// Sets which cosines become hints from 0 to 1; from 0.15 to 0.6 unless set, as MiniLM wants it. Models
    /// differ: with E5 all cosines are above 0.7, and 0.75 to 0.95 tells texts apart.
    ///
    /// The floor must be smaller than the ceiling; otherwise every text is as close as the next.
    pub fn range(mut self, floor: f64, ceiling: f64) -> Self {
        self.range = (floor, ceiling);
        self
    }

    /// A [`WaitingJudge`] of this judge with a [weight of one half](Self::WEIGHT), which keeps the most
    /// evidence beside the words.
    pub fn waiting(self) -> WaitingJudge {
        WaitingJudge::new(self).weight(Self::WEIGHT)
    }

    /// Number of vectors in memory, and their bytes.
    #[must_use]
    pub fn remembered(&self) -> (usize, u64) {
        self.queue.remembered()
    }

    /// Hint of a text by the closest of its pieces.
    fn closest(&self, asked: &[f32], pieces: &[Arc<[f32]>]) -> Result<f64, BoxError> {
        let mut best = f64::NEG_INFINITY;
        for vector in pieces {
            if vector.len() != asked.len() {
                let (got, expected) = (vector.len(), asked.len());
                let problem = format!(
                    "the model gave a text {got} numbers, expected {expected} as for the question"
                );
                return Err(problem.into());
            }
            best = best.max(dot(asked, vector));
        }
        let (floor, ceiling) = self.range;
        let width = ceiling - floor;
        let is_close = best > floor && width > 0.0;
        Ok(if is_close { ((best - floor) / width).min(1.0) } else { 0.0 })
    }
}

#[async_trait]
impl AsyncJudge for EmbeddingsJudge {
    async fn judge(
        &self,
        question: &Question,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<f64>, BoxError> {
        self.judge_counted(question, candidates, &JudgeWork::default()).await
    }

    async fn judge_counted(
        &self,
        question: &Question,
        candidates: &[Candidate<'_>],
        work: &JudgeWork,
    ) -> Result<Vec<f64>, BoxError> {
        let asked = question.text();
        if asked.trim().is_empty() {
            return Ok(vec![0.0; candidates.len()]);
        }
        // The question has no hint, and blank texts have no meaning.
        let is_judged = |it: &Candidate<'_>| it.text != asked && !it.text.trim().is_empty();
        let mut texts: Vec<&str> = Vec::with_capacity(candidates.len());
        let mut ends = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            if is_judged(candidate) {
                texts.extend(pieces(candidate.text));
            }
            ends.push(texts.len());
            if ends.len() % COMPARED == 0 {
                tokio::task::yield_now().await;
            }
        }
        let vectors = self.queue.passages(&texts, work);
        let (asked, vectors) = try_join(self.queue.question(asked, work), vectors).await?;
        let (mut hints, mut start) = (Vec::with_capacity(candidates.len()), 0);
        for end in ends {
            // Many comparisons let others run in between.
            if hints.len() % COMPARED == COMPARED - 1 {
                tokio::task::yield_now().await;
            }
            hints.push(self.closest(&asked, vectors.get(start..end).unwrap_or_default())?);
            start = end;
        }
        Ok(hints)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for EmbeddingsJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingsJudge")
            .field("name", &self.name)
            .field("range", &self.range)
            .field("queue", &self.queue)
            .finish()
    }
}
