//! A model that judges by meaning, as data.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::config::{Fields, FromTree, Path};
use crate::relevance::Judge;

/// A model that judges by meaning, in `relevance: { type: blend, meaning: … }`.
///
/// | model | keys; those in parentheses may be left out |
/// | --- | --- |
/// | `model2vec` | `path`: folder with the files of a model2vec model |
/// | `embeddings` | `url`: address without `/embeddings`; `model`; and those of an [`EmbeddingsSpec`] |
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum MeaningSpec {
    /// Static embeddings from files.
    #[serde(rename = "model2vec")]
    Model2Vec {
        /// Folder of the model.
        path: String,
    },
    /// A server that speaks `/v1/embeddings`.
    #[serde(rename = "embeddings")]
    Embeddings(EmbeddingsSpec),
}

/// A server that speaks `/v1/embeddings`, as data.
///
/// | key | value |
/// | --- | --- |
/// | `url` | address without `/embeddings`, such as `http://127.0.0.1:8080/v1` |
/// | `model` | name of the model in requests |
/// | (`key`) | `{ env: NAME }`: the variable with the key; no key where left out |
/// | (`deadline_seconds`) | time limit of a call for the answers; 0.5 where left out |
/// | (`dimensions`) | length of the vectors, where the model can shorten them |
/// | (`question_prefix`, `passage_prefix`) | texts before questions and passages, such as `query: ` |
/// | (`range`) | two cosines that become hints of 0 and 1; `[0.15, 0.6]` where left out |
/// | (`batch`) | most texts in one request; 32 where left out |
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EmbeddingsSpec {
    /// Address without `/embeddings`.
    pub url: String,
    /// Name of the model in requests.
    pub model: String,
    /// Variable with the key of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyVariable>,
    /// Time limit of a call for the answers, in seconds.
    pub deadline_seconds: f64,
    /// Length of the vectors, where the model can shorten them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<usize>,
    /// Prefix of questions.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub question_prefix: String,
    /// Prefix of passages.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub passage_prefix: String,
    /// Cosines that become hints of 0 and 1.
    pub range: Vec<f64>,
    /// Most texts in one request.
    pub batch: usize,
}

impl EmbeddingsSpec {
    /// A server with the defaults of all other settings.
    #[must_use]
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            deadline_seconds: 0.5,
            dimensions: None,
            question_prefix: String::new(),
            passage_prefix: String::new(),
            range: vec![0.15, 0.6],
            batch: 32,
        }
    }

    /// Time limit of a call for the answers.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        Duration::try_from_secs_f64(self.deadline_seconds).unwrap_or_default()
    }
}

/// Environment variable with a key. Files of policies have no keys in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeyVariable {
    /// Name of the variable.
    pub env: String,
}

impl KeyVariable {
    /// A variable by its name.
    #[must_use]
    pub fn new(env: impl Into<String>) -> Self {
        Self { env: env.into() }
    }

    /// The key in the variable.
    ///
    /// # Errors
    ///
    /// Says that the variable is not set.
    pub fn read(&self) -> Result<String, String> {
        let key = std::env::var(&self.env).ok().filter(|key| !key.is_empty());
        key.ok_or_else(|| format!("the variable {} is not set, expected a key", self.env))
    }
}

impl FromTree for KeyVariable {
    const EXPECTED: &'static str = "a table with env: keys do not belong into this file";

    fn from_fields(fields: &mut Fields<'_>) -> Option<Self> {
        Some(Self { env: fields.needed("env", "the name of a variable")? })
    }

    fn stand_in(_: &Path<'_>) -> Self {
        Self::new("KEY")
    }
}

impl FromTree for MeaningSpec {
    const EXPECTED: &'static str = "a model";
    const IS_PART: bool = true;

    fn from_fields(fields: &mut Fields<'_>) -> Option<Self> {
        if fields.part(&["model2vec", "embeddings"])? == "model2vec" {
            return Some(Self::Model2Vec { path: fields.required("path") });
        }
        let (url, model): (String, String) = (fields.required("url"), fields.required("model"));
        let default = EmbeddingsSpec::new(url, model);
        Some(Self::Embeddings(EmbeddingsSpec {
            key: fields.maybe("key"),
            deadline_seconds: fields.or("deadline_seconds", default.deadline_seconds),
            dimensions: fields.maybe("dimensions"),
            question_prefix: fields.or("question_prefix", String::new()),
            passage_prefix: fields.or("passage_prefix", String::new()),
            range: fields.or("range", default.range.clone()),
            batch: fields.or("batch", default.batch),
            ..default
        }))
    }

    fn stand_in(_: &Path<'_>) -> Self {
        Self::Model2Vec { path: "model".to_owned() }
    }
}

impl MeaningSpec {
    /// Name of the type in files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Model2Vec { .. } => "model2vec",
            Self::Embeddings(_) => "embeddings",
        }
    }
}

/// A model that a [`ScorerRegistry`](super::ScorerRegistry) has opened for a policy.
#[derive(Clone)]
pub struct MeaningModel(pub(super) OpenedModel);

#[derive(Clone)]
pub(super) enum OpenedModel {
    /// Judges at once.
    Judge(Arc<dyn Judge>),
    /// Settings of a judge that has to be waited for, which a layer knows.
    Waiting(Arc<dyn Any + Send + Sync>),
}

impl MeaningModel {
    /// A model that answers at once.
    #[must_use]
    pub fn judge(judge: impl Judge + 'static) -> Self {
        Self(OpenedModel::Judge(Arc::new(judge)))
    }

    pub(crate) fn with_waiting(waiting: Arc<dyn Any + Send + Sync>) -> Self {
        Self(OpenedModel::Waiting(waiting))
    }
}

impl fmt::Debug for MeaningModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            OpenedModel::Judge(judge) => f.debug_tuple("MeaningModel").field(judge).finish(),
            OpenedModel::Waiting(_) => f.debug_struct("MeaningModel").finish_non_exhaustive(),
        }
    }
}
