//! Settings of an embedding model that judges beside the words.

use std::time::Duration;

use cupel::gather::EmbeddingsJudge;
use cupel_json::EmbeddingsApi;

use super::Upstream;
use crate::credentials::Secret;

/// Embedding model behind `/v1/embeddings`. Texts before the cut and the question go to its address and
/// nowhere else.
///
/// ```
/// use cupel_gateway::Meaning;
///
/// let meaning = Meaning::new("http://127.0.0.1:8080/v1", "all-minilm-l6-v2");
/// assert_eq!(meaning.weight, 0.5);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Meaning {
    /// Address without `/embeddings`.
    pub url: String,
    /// Name of the model in requests.
    pub model: String,
    /// Key for the server. It never gets the client's key.
    pub key: Option<Secret>,
    /// Share of the model in a hint, from 0 to 1. The rest is the words'.
    pub weight: f64,
    /// Time limit of a call for its answers. What is not embedded by then is embedded for the next call.
    pub deadline: Duration,
    /// Length of the vectors, where the model can shorten them.
    pub dimensions: Option<usize>,
    /// Prefix of questions, such as `query: `.
    pub question_prefix: String,
    /// Prefix of passages, such as `passage: `.
    pub passage_prefix: String,
    /// Cosines that become hints of 0 and 1.
    pub range: (f64, f64),
    /// Most texts in one request.
    pub batch: usize,
    /// Bytes of vectors that are kept in memory.
    pub bytes: usize,
}

impl Meaning {
    /// Configures a model with half of the weight and a deadline of 500 ms.
    #[must_use]
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            weight: EmbeddingsJudge::WEIGHT,
            deadline: Duration::from_millis(500),
            dimensions: None,
            question_prefix: String::new(),
            passage_prefix: String::new(),
            range: (EmbeddingsJudge::DEFAULT_FLOOR, EmbeddingsJudge::DEFAULT_CEILING),
            batch: EmbeddingsJudge::DEFAULT_BATCH,
            bytes: 64 << 20,
        }
    }

    /// Lists what is wrong with the settings, each with its key.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut wrong = |key: &str, why: String| problems.push(format!("meaning.{key}: {why}"));
        if let Err(why) = Upstream::new(self.url.as_str()) {
            wrong("url", why);
        }
        if self.model.trim().is_empty() {
            wrong("model", "is empty, expected the name of a model".to_owned());
        }
        if !(0.0..=1.0).contains(&self.weight) {
            wrong("weight", format!("must be from 0 to 1, got {}", self.weight));
        }
        if self.deadline.is_zero() {
            wrong("deadline_seconds", "must be more than 0, got 0".to_owned());
        }
        let (floor, ceiling) = self.range;
        if !(-1.0..=1.0).contains(&floor) || !(-1.0..=1.0).contains(&ceiling) || floor >= ceiling {
            let expected = "expected two cosines from -1 to 1, the smaller one first";
            wrong("range", format!("is [{floor}, {ceiling}], {expected}"));
        }
        if self.dimensions == Some(0) {
            wrong("dimensions", "must be at least 1, got 0".to_owned());
        }
        if self.batch == 0 {
            wrong("batch", "must be at least 1, got 0".to_owned());
        }
        problems
    }

    pub(crate) fn api(&self) -> EmbeddingsApi {
        let api = EmbeddingsApi::new(self.model.as_str())
            .prefixes(self.question_prefix.as_str(), self.passage_prefix.as_str());
        match self.dimensions {
            Some(dimensions) => api.dimensions(dimensions),
            None => api,
        }
    }
}
