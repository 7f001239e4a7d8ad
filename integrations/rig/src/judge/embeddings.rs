//! A judge over an embedding model.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use cupel::gather::BoxError;
use cupel::layer::AsyncJudge;
use cupel::relevance::{Candidate, Question, Vectors, cosine};
use rig_core::DynModel;
use rig_core::operation::Embedding;

use super::{DEFAULT_CONCURRENCY, Known, ask_in_batches, beginning, sorted};
use crate::source::ScoreScale;

/// Judges texts by any rig embedding model: how close their vectors are to the question's.
///
/// Each text is embedded once and [remembered](Vectors) by content, the question too: on the next
/// turn only what is new is sent. Requests have as many texts as the model takes, and a few are under
/// way at once. A call that is too late for an answer leaves what has been answered for the next.
///
/// A hint is the cosine on a [`ScoreScale`]: [as it is](ScoreScale::CosineSimilarity), with what is
/// negative as 0, unless set. Of a text beyond 8,000 bytes the beginning is embedded; blank texts and
/// copies of the question are 0.
///
/// See the [module](super) for an example, and for what leaves the process.
#[derive(Clone)]
#[must_use]
pub struct EmbeddingJudge {
    model: DynModel<Embedding>,
    name: String,
    scale: ScoreScale,
    vectors: Arc<Vectors>,
    concurrency: usize,
}

impl EmbeddingJudge {
    /// Judges by this model, typed or erased.
    pub fn new(model: impl Into<DynModel<Embedding>>) -> Self {
        let model = model.into();
        let name = model.id().unwrap_or_else(|| model.name()).to_owned();
        let (scale, vectors) = (ScoreScale::CosineSimilarity, Arc::default());
        Self { model, name, scale, vectors, concurrency: DEFAULT_CONCURRENCY }
    }

    /// Makes hints of cosines this way. Models differ in what is close: with some, all cosines are
    /// above 0.7, and a [function](ScoreScale::custom) such as `|cosine| (cosine - 0.7) / 0.3` tells
    /// texts apart better. It is to be a fixed one, so that hints stay as they are.
    pub fn scale(mut self, scale: ScoreScale) -> Self {
        self.scale = scale;
        self
    }

    /// Remembers up to so many bytes of vectors; [64 MiB](Vectors::DEFAULT_CAPACITY) unless set.
    pub fn remember(mut self, bytes: u64) -> Self {
        self.vectors = Arc::new(Vectors::with_capacity(bytes));
        self
    }

    /// Sets how many requests of one call may be under way at once; 4 unless set, and at least 1.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests;
        self
    }

    /// The vectors of these texts, from memory or from the model.
    async fn embed<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Result<Known<'a>, BoxError> {
        let (mut known, new) = sorted(texts, |text| self.vectors.get(text));
        let most = self.model.capabilities().max_documents;
        let ask = |texts: Vec<String>| {
            let (model, vectors) = (self.model.clone(), Arc::clone(&self.vectors));
            async move {
                let answer = model.call(texts.clone()).await?;
                let embedded: Vec<Arc<[f32]>> = answer
                    .embeddings
                    .into_iter()
                    .map(|embedding| embedding.vec.into_iter().map(|value| value as f32).collect())
                    .collect();
                if embedded.len() == texts.len() {
                    for (text, vector) in texts.iter().zip(&embedded) {
                        vectors.insert(text, Arc::clone(vector));
                    }
                }
                Ok::<_, BoxError>(embedded)
            }
        };
        ask_in_batches(&mut known, new, most, self.concurrency, ask).await?;
        Ok(known)
    }

    fn hint(&self, asked: &[f32], vector: &[f32]) -> Result<f64, BoxError> {
        if asked.len() != vector.len() {
            let (got, expected) = (vector.len(), asked.len());
            let problem = format!(
                "the model gave a text {got} numbers, expected {expected} as for the question"
            );
            return Err(problem.into());
        }
        let cosine = cosine(asked, vector);
        if cosine.is_nan() {
            return Err("the model gave a vector with a value that is no number".into());
        }
        Ok(self.scale.relevance(cosine))
    }
}

#[async_trait]
impl AsyncJudge for EmbeddingJudge {
    async fn judge(
        &self,
        question: &Question,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<f64>, BoxError> {
        let texts = candidates.iter().map(|candidate| candidate.text);
        let known = self.embed(std::iter::once(question.text()).chain(texts)).await?;
        let Some(asked) = known.get(beginning(question.text())) else {
            return Ok(vec![0.0; candidates.len()]); // a blank question
        };
        let hint = |candidate: &Candidate<'_>| match known.get(beginning(candidate.text)) {
            Some(vector) if candidate.text != question.text() => self.hint(asked, vector),
            _ => Ok(0.0),
        };
        candidates.iter().map(hint).collect()
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for EmbeddingJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingJudge")
            .field("name", &self.name)
            .field("scale", &self.scale)
            .field("remembered", &self.vectors)
            .finish_non_exhaustive()
    }
}
