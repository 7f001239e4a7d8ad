//! An embedding model behind `/v1/embeddings`, for a judge that compares meanings.

use std::fmt;
#[cfg(feature = "config")]
use std::sync::{Mutex, PoisonError};

use async_openai::config::Config;
#[cfg(feature = "config")]
use async_openai::config::OpenAIConfig;
use async_trait::async_trait;
use cupel::gather::{BoxError, EmbedAs, Embedder};
#[cfg(feature = "config")]
use cupel::gather::{EmbeddingsJudge, WaitingJudge};
use cupel::layer::off_executor;
#[cfg(feature = "config")]
use cupel::policy::spec::{EmbeddingsSpec, KeyVariable, MeaningSpec, ScorerRegistry};
use cupel_json::EmbeddingsApi;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

/// Longest answer that is read, in bytes. A batch of 32 vectors of 3,072 numbers takes 2 MB.
const MOST_BYTES: usize = 64 << 20;
/// Nanoseconds that reading a byte of an answer takes, about.
const STEPS_PER_BYTE: u64 = 5;

/// Asks a server for vectors: OpenAI's API, llama.cpp, vLLM, Ollama or text-embeddings-inference.
///
/// ```
/// use async_openai::config::OpenAIConfig;
/// use cupel::gather::EmbeddingsJudge;
/// use cupel_async_openai::{EmbeddingsApi, EmbeddingsClient};
///
/// let config = OpenAIConfig::new().with_api_base("http://127.0.0.1:8080/v1").with_api_key("none");
/// let model = EmbeddingsClient::new(&config, EmbeddingsApi::new("all-minilm-l6-v2"));
/// let waiting = EmbeddingsJudge::new(model).waiting(); // for `CupelLayer::builder().waiting_judge(..)`
/// # let _ = waiting;
/// ```
///
/// The texts go to the address of the configuration and nowhere else. Redirects are followed as the
/// [`reqwest::Client`] says; see [`http_client`](Self::http_client).
#[derive(Clone)]
#[must_use]
pub struct EmbeddingsClient {
    client: reqwest::Client,
    url: String,
    headers: HeaderMap,
    api: EmbeddingsApi,
}

impl EmbeddingsClient {
    /// Asks the server of a client's configuration, with its headers and its key.
    pub fn new(config: &impl Config, api: EmbeddingsApi) -> Self {
        let (url, headers) = (config.url("/embeddings"), config.headers());
        Self { client: reqwest::Client::new(), url, headers, api }
    }

    /// Sends requests by this client, with its connections, proxies and certificates.
    pub fn http_client(mut self, client: reqwest::Client) -> Self {
        self.client = client;
        self
    }
}

#[async_trait]
impl Embedder for EmbeddingsClient {
    fn model(&self) -> &str {
        self.api.identity()
    }

    async fn embed(&self, what: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError> {
        let request = self
            .client
            .post(&self.url)
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(self.api.body(what, texts));
        // The address may hold a key.
        let mut answer = request.send().await.map_err(reqwest::Error::without_url)?;
        let status = answer.status();
        if !status.is_success() {
            return Err(format!("the server of the embeddings answered {status}").into());
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(reqwest::Error::without_url)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MOST_BYTES {
                return Err(format!("the answer is larger than {MOST_BYTES} bytes").into());
            }
        }
        let (api, texts) = (self.api.clone(), texts.len());
        let steps = STEPS_PER_BYTE.saturating_mul(bytes.len() as u64);
        Ok(off_executor(steps, move || api.read(&bytes, texts)).await??)
    }
}

impl fmt::Debug for EmbeddingsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingsClient").field("api", &self.api).finish_non_exhaustive()
    }
}

/// Has policy files open models of type `embeddings`: `relevance: { type: blend, words: lexical, meaning:
/// { type: embeddings, url: …, model: … } }`. All policies of one registry that name the same server and model
/// share one memory of vectors.
///
/// ```
/// use cupel::PolicySpec;
/// use cupel::policy::spec::ScorerRegistry;
/// use cupel::scorer::SystemTimeProvider;
///
/// let registry = cupel_async_openai::register(ScorerRegistry::new(SystemTimeProvider));
/// let spec: PolicySpec = serde_json::from_str(
///     r#"{
///         "scorer": "reflexive", "slicer": "best_first", "placer": "age", "plan": "default",
///         "relevance": {
///             "type": "blend", "words": "lexical", "weight": 0.5,
///             "meaning": {
///                 "type": "embeddings", "url": "http://127.0.0.1:8080/v1", "model": "all-minilm-l6-v2"
///             }
///         }
///     }"#,
/// )?;
/// let policy = spec.to_policy(&registry)?;
/// # let _ = policy;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "config")]
#[must_use]
pub fn register(registry: ScorerRegistry) -> ScorerRegistry {
    let opened: Mutex<Vec<(EmbeddingsSpec, WaitingJudge)>> = Mutex::default();
    registry.models(move |spec| {
        let MeaningSpec::Embeddings(spec) = spec else { return None };
        let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, judge)) = opened.iter().find(|(known, _)| known == spec) {
            return Some(Ok(judge.clone().into()));
        }
        Some(open(spec).map(|judge| {
            opened.push((spec.clone(), judge.clone()));
            judge.into()
        }))
    })
}

/// Opens a model that a file names.
#[cfg(feature = "config")]
fn open(spec: &EmbeddingsSpec) -> Result<WaitingJudge, String> {
    let key = spec.key.as_ref().map(KeyVariable::read).transpose();
    let key = key.map_err(|problem| format!("key: {problem}"))?.unwrap_or_default();
    let config = OpenAIConfig::new().with_api_base(spec.url.as_str()).with_api_key(key);
    let mut api = EmbeddingsApi::new(spec.model.as_str())
        .prefixes(spec.question_prefix.as_str(), spec.passage_prefix.as_str());
    if let Some(dimensions) = spec.dimensions {
        api = api.dimensions(dimensions);
    }
    let mut judge = EmbeddingsJudge::new(EmbeddingsClient::new(&config, api))
        .named(spec.model.as_str())
        .batch(spec.batch);
    if let Some(dimensions) = spec.dimensions {
        judge = judge.dimensions(dimensions);
    }
    if let [floor, ceiling] = spec.range.as_slice() {
        judge = judge.range(*floor, *ceiling);
    }
    Ok(judge.waiting().deadline(spec.deadline()))
}
