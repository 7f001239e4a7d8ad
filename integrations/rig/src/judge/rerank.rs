//! A judge over a re-ranker.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use cupel::gather::BoxError;
use cupel::layer::AsyncJudge;
use cupel::relevance::{Candidate, Question, Vectors};
use rig_core::DynModel;
use rig_core::operation::{Rerank, RerankRequest};

use super::{DEFAULT_CONCURRENCY, Known, ask_in_batches, beginning, sorted};
use crate::source::ScoreScale;

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
#[derive(Clone)]
#[must_use]
pub struct RerankJudge {
    model: DynModel<Rerank>,
    name: String,
    scale: ScoreScale,
    scores: Arc<Vectors>,
    concurrency: usize,
}

/// About 50,000 scores.
const SCORE_BYTES: u64 = 4 << 20;

impl RerankJudge {
    /// Judges by this model, typed or erased, whose scores are of this scale.
    pub fn new(model: impl Into<DynModel<Rerank>>, scale: ScoreScale) -> Self {
        let model = model.into();
        let name = model.id().unwrap_or_else(|| model.name()).to_owned();
        let scores = Arc::new(Vectors::with_capacity(SCORE_BYTES));
        Self { model, name, scale, scores, concurrency: DEFAULT_CONCURRENCY }
    }

    /// Remembers up to so many bytes of scores; 4 MiB unless set, about 50,000 scores.
    pub fn remember(mut self, bytes: u64) -> Self {
        self.scores = Arc::new(Vectors::with_capacity(bytes));
        self
    }

    /// Sets how many requests of one call may be under way at once; 4 unless set, and at least 1.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests;
        self
    }

    /// The scores of these texts, from memory or from the model.
    async fn scores<'a>(
        &self,
        question: &str,
        texts: impl Iterator<Item = &'a str>,
    ) -> Result<Known<'a>, BoxError> {
        let (mut known, new) = sorted(texts, |text| self.scores.get(&key(question, text)));
        let most = self.model.capabilities().max_documents;
        let ask = |documents: Vec<String>| {
            let (model, scores) = (self.model.clone(), Arc::clone(&self.scores));
            let query = question.to_owned();
            async move {
                let request = RerankRequest { query: query.clone(), documents: documents.clone() };
                let answer = model.call(request).await?;
                let mut found: Vec<Option<Arc<[f32]>>> = vec![None; documents.len()];
                for result in answer.results {
                    let score: Arc<[f32]> = Arc::new([result.relevance_score as f32]);
                    found
                        .get_mut(result.index)
                        .into_iter()
                        .for_each(|it| *it = Some(score.clone()));
                }
                let found: Vec<Arc<[f32]>> = found.into_iter().flatten().collect();
                if found.len() == documents.len() {
                    for (text, score) in documents.iter().zip(&found) {
                        scores.insert(&key(&query, text), Arc::clone(score));
                    }
                }
                Ok::<_, BoxError>(found)
            }
        };
        ask_in_batches(&mut known, new, most, self.concurrency, ask).await?;
        Ok(known)
    }
}

/// What a score is remembered by.
fn key(question: &str, text: &str) -> String {
    format!("{} {question}{text}", question.len())
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
        let known = self.scores(asked, texts.filter(|text| *text != question.text())).await?;
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

impl fmt::Debug for RerankJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RerankJudge")
            .field("name", &self.name)
            .field("scale", &self.scale)
            .field("remembered", &self.scores)
            .finish_non_exhaustive()
    }
}
