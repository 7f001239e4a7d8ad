//! Summaries of what left the window, by a model behind an upstream.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use cupel::conversation::plan::CellContent;
use cupel::gather::{
    BoxError, Compactor, CompactorPrice, SUMMARY_PROMPT, SummaryScope, SummaryStore,
    compactor_version,
};
use cupel::layer::Compaction;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request};
use http_body_util::{BodyExt, Limited};
use serde::Deserialize;
use serde_json::json;

use crate::config::{SummaryModel, Upstream};
use crate::credentials::{Caller, CallerBody, Secret};
use crate::proxy::{UpstreamClient, Usage};

/// Largest answer that is read.
const ANSWER_BYTES: usize = 1 << 20;

/// A call of the gateway's own, when it has ended.
#[derive(Debug)]
pub(crate) struct OwnCall {
    pub(crate) model: Arc<str>,
    pub(crate) conversation: Option<Arc<str>>,
    /// Status of the answer; 0 if there was none.
    pub(crate) status: u16,
    pub(crate) usage: Option<Usage>,
    pub(crate) elapsed: Duration,
}

/// Receives the gateway's own calls.
type ReportCall = dyn Fn(OwnCall) + Send + Sync;

/// Parts of summaries that stay when the configuration changes.
#[derive(Clone)]
pub(crate) struct SummaryParts {
    pub(crate) store: Arc<dyn SummaryStore>,
    pub(crate) report: Arc<ReportCall>,
}

impl fmt::Debug for SummaryParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SummaryParts").field("store", &self.store).finish_non_exhaustive()
    }
}

/// The summaries of a configuration; `None` if its upstream does not exist.
pub(crate) fn compaction(
    settings: &SummaryModel,
    upstreams: &[Upstream],
    client: &UpstreamClient,
    parts: &SummaryParts,
) -> Option<Compaction<CallerBody>> {
    let (upstream, key) = settings.upstream(upstreams)?;
    let prompt: Arc<str> = settings.prompt.clone().unwrap_or_else(|| SUMMARY_PROMPT.into());
    let compactor = UpstreamCompactor {
        client: client.clone(),
        url: format!("{}/chat/completions", upstream.url()),
        key: key.cloned(),
        version: compactor_version(&[upstream.url(), &settings.model, &prompt]),
        model: settings.model.as_str().into(),
        prompt,
        price: CompactorPrice { input: settings.input_price, output: settings.output_price },
        deadline: settings.deadline,
        report: Arc::clone(&parts.report),
    };
    let compaction = Compaction::new(compactor, Arc::clone(&parts.store), |body: &CallerBody| {
        let Caller { tenant, conversation, is_remembered, .. } = body.companion();
        // Callers without a key would share a tenant.
        let name = conversation.as_deref().filter(|_| *is_remembered)?;
        Some(SummaryScope::new(tenant.as_str(), name))
    });
    let compaction =
        compaction.budget(settings.budget).deadline(settings.deadline).at_once(settings.at_once);
    let compaction = match settings.share {
        Some(share) => compaction.share(share),
        None => compaction,
    };
    Some(match settings.limit {
        Some(limit) => compaction.limit(limit),
        None => compaction,
    })
}

/// Asks a model of an upstream, with nothing of a client but the texts.
struct UpstreamCompactor {
    client: UpstreamClient,
    url: String,
    key: Option<Secret>,
    version: String,
    model: Arc<str>,
    prompt: Arc<str>,
    price: CompactorPrice,
    deadline: Duration,
    report: Arc<ReportCall>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    choices: Vec<Choice>,
    usage: Option<AnswerUsage>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    message: ChoiceMessage,
}

#[derive(Debug, Deserialize)]
struct ChoiceMessage {
    content: Option<String>,
}

#[derive(Debug, Deserialize)]
struct AnswerUsage {
    #[serde(default)]
    prompt_tokens: i64,
    #[serde(default)]
    completion_tokens: i64,
}

impl UpstreamCompactor {
    async fn ask(
        &self,
        cell: &CellContent,
        limit: i64,
        call: &mut OwnCall,
    ) -> Result<String, BoxError> {
        let instructions = self.prompt.replace("{limit}", &limit.to_string());
        let body = json!({"model": &*self.model, "messages": [
            {"role": "system", "content": instructions},
            {"role": "user", "content": cell.quoted()},
        ]});
        let mut request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json");
        if let Some(key) = &self.key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let request = request.body(body.to_string().into())?;
        let answer = self.client.ask(request, self.deadline).await?;
        call.status = answer.status().as_u16();
        if !answer.status().is_success() {
            return Err(format!("the upstream answered {}", answer.status()).into());
        }
        let body = Limited::new(answer.into_body(), ANSWER_BYTES).collect().await?.to_bytes();
        let answer: Answer = serde_json::from_slice(&body)
            .map_err(|_| "the upstream's answer is no chat completion")?;
        call.usage = answer.usage.map(|usage| Usage {
            input: usage.prompt_tokens,
            cached: 0,
            written: 0,
            output: usage.completion_tokens,
        });
        let text = answer.choices.into_iter().next().and_then(|choice| choice.message.content);
        text.ok_or_else(|| "the upstream's answer has no text".into())
    }
}

#[async_trait]
impl Compactor for UpstreamCompactor {
    async fn compact(&self, cell: &CellContent, limit: i64) -> Result<String, BoxError> {
        let begun = Instant::now();
        let mut call = OwnCall {
            model: Arc::clone(&self.model),
            conversation: cell.conversation.clone(),
            status: 0,
            usage: None,
            elapsed: Duration::ZERO,
        };
        let text = self.ask(cell, limit, &mut call).await;
        call.elapsed = begun.elapsed();
        (self.report)(call);
        text
    }

    fn name(&self) -> &str {
        &self.model
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn price(&self) -> CompactorPrice {
        self.price
    }
}
