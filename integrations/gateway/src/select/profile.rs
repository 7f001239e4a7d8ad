//! How requests for one group of models are fitted.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use cupel::Policy;
use cupel::layer::{CupelLayer, CupelService, Error, Selection};
use cupel::tokens::{CachedCounter, Encoding, HeuristicCounter, TokenCounter, shared_counter};
use cupel_json::{
    CacheRule, ClaudeModels, Endpoint, JsonBody, Model, ModelWindow, Models, OpenAiAdapter,
};
use cupel_otel::{CupelMetrics, CupelOtel, CupelVerbosity};
use tower::{Layer, Service};

use super::budget::Calibrated;
use super::messages;
use crate::config::{Config, Count, ModelRule, Upstream};
use crate::proxy::Client;
use crate::source;

/// The layer over a service that sends nothing: what was selected comes back.
type Fitting = CupelService<Echo, JsonBody, OpenAiAdapter>;

/// A rule, and the layers that follow it.
#[derive(Debug)]
pub(super) struct Profile {
    /// The models it is for; empty for those that no rule is about.
    pub(super) pattern: String,
    /// Models whose encoding is known.
    exact: Fitting,
    /// Others; none where no window is known for them.
    estimated: Option<Fitting>,
    /// Whether the rule says how to count, so that `exact` is for all.
    counts: bool,
    /// Bodies of Anthropic's Messages.
    messages: messages::Fitting,
    /// How many of the model's tokens one of ours is taken for.
    pub(super) factor: f64,
}

/// Why a model cannot be fitted.
#[derive(Debug)]
pub(super) struct Unknown;

impl Profile {
    pub(super) fn new(
        config: &Config,
        rule: Option<&ModelRule>,
        client: &Client,
    ) -> Result<Self, String> {
        let window = rule.and_then(|rule| rule.window);
        let fallback = window.or(config.unknown_window);
        let count = rule.and_then(|rule| rule.count);
        let built =
            |count| layer(config, rule, fallback, count, client).map_err(|error| error.to_string());
        Ok(Self {
            pattern: rule.map(|rule| rule.name.clone()).unwrap_or_default(),
            exact: built(count)?,
            estimated: fallback.map(|_| built(Some(Count::Estimate))).transpose()?,
            counts: count.is_some(),
            factor: rule.map_or(1.0, |rule| rule.factor),
            messages: messages::layer(config, rule, client).map_err(|error| error.to_string())?,
        })
    }

    /// Selects in a body.
    pub(super) async fn select(
        &self,
        body: JsonBody,
    ) -> Result<Result<Fit, Error<Infallible>>, Unknown> {
        if body.endpoint() == Endpoint::Messages {
            let known = ClaudeModels::new().get(body.model().unwrap_or_default()).is_ok();
            if !known && self.estimated.is_none() {
                return Err(Unknown);
            }
            return Ok(self.messages.clone().call_with_report(body).await.map(Fit::of));
        }
        let known = Models::new().get(body.model().unwrap_or_default()).is_ok();
        let fitting = match &self.estimated {
            _ if known || (self.counts && self.estimated.is_some()) => &self.exact,
            Some(estimated) => estimated,
            None => return Err(Unknown),
        };
        Ok(fitting.clone().call_with_report(body).await.map(Fit::of))
    }
}

/// A body that was fitted.
#[derive(Debug)]
pub(super) struct Fit {
    pub(super) json: Arc<str>,
    pub(super) selection: Selection,
    /// What `anthropic-beta` has to say for it.
    pub(super) beta: Option<&'static str>,
}

impl Fit {
    fn of((body, selection): (JsonBody, Selection)) -> Self {
        let beta = body.needs_beta();
        Self { json: body.into_json(), selection, beta }
    }
}

fn layer(
    config: &Config,
    rule: Option<&ModelRule>,
    fallback: Option<i64>,
    count: Option<Count>,
    client: &Client,
) -> Result<Fitting, Box<dyn std::error::Error>> {
    let mut models = Models::new();
    if let Some(window) = fallback {
        models = models.otherwise(Model::new(window, Encoding::O200k));
    }
    let mut window = ModelWindow::new(models.clone());
    if let Some(tokens) = rule.and_then(|rule| rule.window) {
        window = window.tokens(tokens);
    }
    if let Some(most) = rule.and_then(|rule| rule.at_most).or(config.at_most) {
        window = window.at_most(most);
    }
    let mut adapter = OpenAiAdapter::new().models(models);
    match count {
        Some(Count::Exactly(encoding)) => adapter = adapter.counter(shared_counter(encoding)),
        Some(Count::Estimate) => adapter = adapter.counter(estimates()),
        None => {}
    }
    if let Some(cache) = rule.and_then(|rule| rule.cache).or_else(|| other_server(config)) {
        adapter = adapter.cache(cache);
    }
    let policy: Policy = rule.and_then(|rule| rule.policy.clone()).unwrap_or(config.policy.clone());
    let factor = rule.map_or(1.0, |rule| rule.factor);
    let mut builder = CupelLayer::builder()
        .adapter(adapter)
        .policy(policy)
        .budget(Calibrated { window, factor })
        .hook(CupelOtel::new(CupelVerbosity::StageOnly).metrics(CupelMetrics::global()));
    for retriever in &config.sources {
        builder = builder.source(source::source(retriever, client));
    }
    for source in &config.code_sources {
        builder = builder.source(source.clone());
    }
    Ok(builder.build()?.layer(Echo))
}

/// Of other servers than OpenAI's own it is not known what they do with breakpoints, whatever their
/// models are called.
fn other_server(config: &Config) -> Option<CacheRule> {
    let claims = |upstream: &&Upstream| upstream.claims(Some(WITH_BREAKPOINTS));
    let asked = config.upstreams.iter().filter(|upstream| claims(upstream).is_some());
    let asked = asked.max_by_key(claims)?;
    (!asked.url().starts_with("https://api.openai.com/")).then_some(CacheRule::Prefix)
}

/// The first model of OpenAI's whose cache matches only at breakpoints.
const WITH_BREAKPOINTS: &str = "gpt-5.6";

/// The estimates of all layers, remembered from turn to turn.
fn estimates() -> Arc<dyn TokenCounter> {
    static SHARED: std::sync::LazyLock<Arc<CachedCounter<HeuristicCounter>>> =
        std::sync::LazyLock::new(|| Arc::new(CachedCounter::new(HeuristicCounter)));
    Arc::clone(&*SHARED) as Arc<dyn TokenCounter>
}

/// Gives the selected body back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Echo;

impl Service<JsonBody> for Echo {
    type Response = JsonBody;
    type Error = Infallible;
    type Future = Ready<Result<JsonBody, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, body: JsonBody) -> Self::Future {
        ready(Ok(body))
    }
}
