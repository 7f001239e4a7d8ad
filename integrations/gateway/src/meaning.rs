//! Embedding model over HTTP: it gets texts, under a deadline, and its answers are not trusted.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use cupel::gather::{BoxError, EmbedAs, Embedder, EmbeddingsJudge, WaitingJudge};
use cupel::layer::off_executor;
#[cfg(feature = "archive")]
use cupel_archive::ArchiveEmbedder;
use cupel_json::EmbeddingsApi;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request};
use http_body_util::{BodyExt, Limited};

use crate::config::Meaning;
use crate::credentials::Secret;
use crate::proxy::UpstreamClient;

/// Longest answer that is read, in bytes.
const MOST_BYTES: usize = 64 << 20;
/// Time for an answer in the background. A call does not wait for so long.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Nanoseconds that reading a byte of an answer takes, about.
const STEPS_PER_BYTE: u64 = 5;

fn model(meaning: &Meaning, client: &UpstreamClient) -> EmbeddingModel {
    let (api, url) = (meaning.api(), meaning.url.trim_end_matches('/'));
    let url = format!("{url}/embeddings");
    EmbeddingModel { api, url, key: meaning.key.clone(), client: client.clone() }
}

/// Makes the embedder of the archive: messages get vectors, and memory is searched by words and by vectors.
#[cfg(feature = "archive")]
pub(crate) fn archive_embedder(meaning: &Meaning, client: &UpstreamClient) -> ArchiveEmbedder {
    ArchiveEmbedder::new(model(meaning, client))
        .deadline(meaning.deadline)
        .timeout(TIMEOUT)
        .weight(meaning.weight)
        .batch(meaning.batch)
        .range(meaning.range.0, meaning.range.1)
}

/// Makes the judge of all layers. They share its memory.
pub(crate) fn judge(meaning: &Meaning, client: &UpstreamClient) -> WaitingJudge {
    let model = model(meaning, client);
    let mut judge = EmbeddingsJudge::new(model)
        .named(meaning.model.as_str())
        .range(meaning.range.0, meaning.range.1)
        .batch(meaning.batch)
        .remember(meaning.bytes as u64);
    if let Some(dimensions) = meaning.dimensions {
        judge = judge.dimensions(dimensions);
    }
    judge.waiting().weight(meaning.weight).deadline(meaning.deadline)
}

struct EmbeddingModel {
    api: EmbeddingsApi,
    url: String,
    key: Option<Secret>,
    client: UpstreamClient,
}

#[async_trait]
impl Embedder for EmbeddingModel {
    fn model(&self) -> &str {
        self.api.identity()
    }

    /// Sends texts, without any of the client's headers.
    async fn embed(&self, what: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError> {
        let mut request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json");
        if let Some(key) = &self.key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let request = request.body(self.api.body(what, texts).into())?;
        let answer = self.client.ask(request, TIMEOUT).await?;
        if !answer.status().is_success() {
            return Err(format!("the server of embeddings answered {}", answer.status()).into());
        }
        let body = Limited::new(answer.into_body(), MOST_BYTES).collect().await?.to_bytes();
        let (api, count) = (self.api.clone(), texts.len());
        let steps = STEPS_PER_BYTE.saturating_mul(body.len() as u64);
        Ok(off_executor(steps, move || api.read(&body, count)).await??)
    }
}

impl fmt::Debug for EmbeddingModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingModel").field("api", &self.api).finish_non_exhaustive()
    }
}
