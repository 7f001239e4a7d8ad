//! rig's models as judges of relevance that are waited for: embeddings and re-rankers.
//!
//! ```
//! use cupel::Policy;
//! use cupel::layer::{CupelLayer, WaitingJudge};
//! use cupel_rig::judge::EmbeddingJudge;
//! use cupel_rig::{AgentCall, RigAdapter};
//! # use rig_core::test_utils::MockEmbeddings;
//! # let embeddings = MockEmbeddings::model();
//!
//! let adapter = RigAdapter::for_model("openai/gpt-4o");
//! let layer = CupelLayer::<AgentCall, _>::builder()
//!     .budget(adapter.window())
//!     .adapter(adapter)
//!     .policy(Policy::tool_use())
//!     .waiting_judge(WaitingJudge::new(EmbeddingJudge::new(embeddings)))
//!     .build()?;
//! # let _ = layer;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **What leaves the process**: the question and the texts of the candidates that compete go to the
//! model's provider, each text once for as long as it is remembered.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use cupel::gather::BoxError;
use cupel::layer::AsyncJudge;
use cupel::relevance::{Candidate, Question, Vectors, cosine};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use rig_core::DynModel;
use rig_core::operation::{Embedding, Rerank, RerankRequest};
use rig_core::wire::Operation;

use crate::source::ScoreScale;

/// Requests under way at once, unless said otherwise.
const DEFAULT_CONCURRENCY: usize = 4;

/// Longest part of a text that is sent, in bytes. A token has at least one byte, so a longer text could
/// exceed the usual limit of 8,191 tokens, and one such text fails its whole batch.
const MOST_BYTES: usize = 8_000;

/// About 50,000 scores.
const SCORE_BYTES: u64 = 4 << 20;

/// Answers of a model: numbers by text.
type TextNumbers<'a> = HashMap<&'a str, Arc<[f32]>>;

/// A judge over one of rig's models: an [`EmbeddingJudge`] or a [`RerankJudge`].
#[derive(Clone)]
#[must_use]
pub struct ModelJudge<O: Operation> {
    model: DynModel<O>,
    name: String,
    scale: ScoreScale,
    remembered: Arc<Vectors>,
    concurrency: usize,
}

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
/// See the [module](self) for an example, and for what leaves the process.
pub type EmbeddingJudge = ModelJudge<Embedding>;

/// Judges texts by any rig re-ranker, which reads the question and a text together.
///
/// What its scores mean differs from provider to provider, so a [`ScoreScale`] says it:
/// [`CosineSimilarity`](ScoreScale::CosineSimilarity) for scores from 0 to 1,
/// [`Unbounded`](ScoreScale::Unbounded) for logits. They must not depend on what else is in a request:
/// texts go out in as many requests as the model needs, and again on other turns. A re-ranker whose
/// scores are relative to the best of a request is no judge.
///
/// Each score is remembered by question and text, so the calls of a tool loop ask once. Of a text
/// beyond 8,000 bytes the beginning is read; blank texts and copies of the question are 0.
///
/// ```
/// use cupel::layer::WaitingJudge;
/// use cupel_rig::judge::RerankJudge;
/// use cupel_rig::source::ScoreScale;
/// # use rig_core::DynModel;
/// # use rig_core::operation::Rerank;
///
/// fn judge(reranker: DynModel<Rerank>) -> WaitingJudge {
///     WaitingJudge::new(RerankJudge::new(reranker, ScoreScale::CosineSimilarity)).weight(0.7)
/// }
/// # let _ = judge;
/// ```
pub type RerankJudge = ModelJudge<Rerank>;

impl EmbeddingJudge {
    /// Judges by this model, typed or erased.
    pub fn new(model: impl Into<DynModel<Embedding>>) -> Self {
        Self::of(model.into(), ScoreScale::CosineSimilarity, Vectors::new())
    }

    /// Makes hints of cosines this way. Models differ in what is close: with some, all cosines are
    /// above 0.7, and a [function](ScoreScale::custom) such as `|cosine| (cosine - 0.7) / 0.3` tells
    /// texts apart better. It is to be a fixed one, so that hints stay as they are.
    pub fn scale(mut self, scale: ScoreScale) -> Self {
        self.scale = scale;
        self
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

impl RerankJudge {
    /// Judges by this model, typed or erased, whose scores are of this scale.
    pub fn new(model: impl Into<DynModel<Rerank>>, scale: ScoreScale) -> Self {
        Self::of(model.into(), scale, Vectors::with_capacity(SCORE_BYTES))
    }
}

impl<O: Operation> ModelJudge<O> {
    fn of(model: DynModel<O>, scale: ScoreScale, remembered: Vectors) -> Self {
        let name = model.id().unwrap_or_else(|| model.name()).to_owned();
        let remembered = Arc::new(remembered);
        Self { model, name, scale, remembered, concurrency: DEFAULT_CONCURRENCY }
    }

    /// Remembers up to so many bytes: of vectors, [64 MiB](Vectors::DEFAULT_CAPACITY) unless set, or of
    /// scores, 4 MiB unless set, about 50,000 scores.
    pub fn remember(mut self, bytes: u64) -> Self {
        self.remembered = Arc::new(Vectors::with_capacity(bytes));
        self
    }

    /// Sets how many requests of one call may be under way at once; 4 unless set, and at least 1.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests;
        self
    }

    /// Answers for these texts, each once, without blank ones. They come from memory, or from the model in
    /// concurrent batches.
    async fn ask<'a>(
        &self,
        question: &str,
        texts: impl Iterator<Item = &'a str>,
    ) -> Result<TextNumbers<'a>, BoxError>
    where
        O: JudgeOperation,
    {
        let (mut known, mut new, mut seen) = (TextNumbers::new(), Vec::new(), HashSet::new());
        let texts = texts.map(beginning).filter(|text| !text.trim().is_empty());
        for text in texts.filter(|text| seen.insert(*text)) {
            match self.remembered.get(&O::key(question, text)) {
                Some(numbers) => drop(known.insert(text, numbers)),
                None => new.push(text),
            }
        }
        let most = self.model.capabilities().max_documents.max(1);
        let batches: Vec<_> =
            new.chunks(most).map(|batch| self.ask_batch(question, batch)).collect();
        let mut asked = stream::iter(batches).buffer_unordered(self.concurrency.max(1));
        while let Some(answers) = asked.try_next().await? {
            known.extend(answers);
        }
        Ok(known)
    }

    /// Asks the model about one batch. The answers are remembered even if the other batches are cancelled.
    async fn ask_batch<'a>(
        &self,
        question: &str,
        batch: &[&'a str],
    ) -> Result<Vec<(&'a str, Arc<[f32]>)>, BoxError>
    where
        O: JudgeOperation,
    {
        let texts: Vec<String> = batch.iter().map(|text| (*text).to_owned()).collect();
        let answer = self.model.call(O::request(question, &texts)).await?;
        let answers = O::numbers(answer, batch.len());
        let (got, expected) = (answers.len(), batch.len());
        if got != expected {
            return Err(format!("the model answered for {got} texts of {expected}").into());
        }
        for (text, numbers) in batch.iter().zip(&answers) {
            self.remembered.insert(&O::key(question, text), Arc::clone(numbers));
        }
        Ok(batch.iter().copied().zip(answers).collect())
    }
}

/// A kind of model that a judge can ask about texts.
trait JudgeOperation: Operation {
    fn request(question: &str, texts: &[String]) -> Self::Request;

    /// Numbers for each text. The list is shorter if the model left some out.
    fn numbers(answer: Self::Response, texts: usize) -> Vec<Arc<[f32]>>;

    /// Cache key of a text's numbers.
    fn key<'a>(question: &str, text: &'a str) -> Cow<'a, str>;
}

impl JudgeOperation for Embedding {
    fn request(_: &str, texts: &[String]) -> Vec<String> {
        texts.to_vec()
    }

    fn numbers(answer: Self::Response, _: usize) -> Vec<Arc<[f32]>> {
        let vectors = answer.embeddings.into_iter().map(|embedding| embedding.vec);
        vectors.map(|vector| vector.into_iter().map(|value| value as f32).collect()).collect()
    }

    fn key<'a>(_: &str, text: &'a str) -> Cow<'a, str> {
        text.into()
    }
}

impl JudgeOperation for Rerank {
    fn request(question: &str, texts: &[String]) -> RerankRequest {
        RerankRequest { query: question.to_owned(), documents: texts.to_vec() }
    }

    fn numbers(answer: Self::Response, texts: usize) -> Vec<Arc<[f32]>> {
        let mut found: Vec<Option<Arc<[f32]>>> = vec![None; texts];
        for result in answer.results {
            if let Some(score) = found.get_mut(result.index) {
                *score = Some(Arc::new([result.relevance_score as f32]));
            }
        }
        found.into_iter().flatten().collect()
    }

    fn key<'a>(question: &str, text: &'a str) -> Cow<'a, str> {
        format!("{} {question}{text}", question.len()).into()
    }
}

/// The beginning of a text, as long as a model takes it.
fn beginning(text: &str) -> &str {
    let end = (0..=MOST_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

#[async_trait]
impl AsyncJudge for EmbeddingJudge {
    async fn judge(
        &self,
        question: &Question,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<f64>, BoxError> {
        let texts = candidates.iter().map(|candidate| candidate.text);
        let texts = std::iter::once(question.text()).chain(texts);
        let known = self.ask(question.text(), texts).await?;
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

#[async_trait]
impl AsyncJudge for RerankJudge {
    async fn judge(
        &self,
        question: &Question,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<f64>, BoxError> {
        let asked = beginning(question.text());
        if asked.trim().is_empty() {
            return Ok(vec![0.0; candidates.len()]);
        }
        let texts = candidates.iter().map(|candidate| candidate.text);
        let known = self.ask(asked, texts.filter(|text| *text != question.text())).await?;
        let hint = |candidate: &Candidate<'_>| {
            let score = known.get(beginning(candidate.text)).and_then(|score| score.first());
            match score.filter(|_| candidate.text != question.text()) {
                Some(score) if score.is_nan() => {
                    Err("the model gave a score that is no number".into())
                }
                Some(score) => Ok(self.scale.relevance(f64::from(*score))),
                None => Ok(0.0),
            }
        };
        candidates.iter().map(hint).collect()
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl<O: Operation> fmt::Debug for ModelJudge<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelJudge")
            .field("name", &self.name)
            .field("scale", &self.scale)
            .field("remembered", &self.remembered)
            .finish_non_exhaustive()
    }
}
