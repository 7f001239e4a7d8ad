//! How requests for one group of models are fitted.

use std::sync::Arc;

use cupel::ContextBudget;
use cupel::gather::BoxError;
use cupel::layer::{
    BudgetOrigin, BudgetProvider, ContextAdapter, ContextError, CupelLayer, Selected, Selection,
    Selector,
};
use cupel::tokens::{CachedCounter, Encoding, HeuristicCounter, TokenCounter, shared_counter};
use cupel_json::{
    CacheRule, ClaudeModel, ClaudeModels, Endpoint, MessagesAdapter, Model, ModelWindow, Models,
    OpenAiAdapter,
};
use cupel_otel::{CupelMetrics, CupelOtel, CupelVerbosity};

use crate::config::{Config, Count, ModelRule, Upstream};
use crate::proxy::Client;
use crate::source;
use crate::tenant::CallerBody;

/// A rule, and the selectors that follow it.
#[derive(Debug)]
pub(super) struct Profile {
    /// The models it is for; empty for those that no rule is about.
    pub(super) pattern: String,
    /// Models whose encoding is known.
    exact: Selector<CallerBody, OpenAiAdapter>,
    /// Others; none where no window is known for them.
    estimated: Option<Selector<CallerBody, OpenAiAdapter>>,
    /// Whether the rule says how to count, so that `exact` is for all.
    counts: bool,
    /// Bodies of Anthropic's Messages.
    messages: Selector<CallerBody, MessagesAdapter>,
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
        let built = |count| {
            openai(config, rule, fallback, count, client).map_err(|error| error.to_string())
        };
        Ok(Self {
            pattern: rule.map(|rule| rule.name.clone()).unwrap_or_default(),
            exact: built(count)?,
            estimated: fallback.map(|_| built(Some(Count::Estimate))).transpose()?,
            counts: count.is_some(),
            factor: rule.map_or(1.0, |rule| rule.factor),
            messages: messages(config, rule, client).map_err(|error| error.to_string())?,
        })
    }

    /// Selects in a body.
    pub(super) async fn select(
        &self,
        body: CallerBody,
    ) -> Result<Result<Fit, ContextError>, Unknown> {
        if body.endpoint() == Endpoint::Messages {
            let known = ClaudeModels::new().get(body.model().unwrap_or_default()).is_ok();
            if !known && self.estimated.is_none() {
                return Err(Unknown);
            }
            return Ok(self.messages.select(body).await.map(Fit::of));
        }
        let known = Models::new().get(body.model().unwrap_or_default()).is_ok();
        let fitting = match &self.estimated {
            _ if known || (self.counts && self.estimated.is_some()) => &self.exact,
            Some(estimated) => estimated,
            None => return Err(Unknown),
        };
        Ok(fitting.select(body).await.map(Fit::of))
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
    fn of(selected: Selected<CallerBody>) -> Self {
        let (body, selection) = selected.into_parts();
        let beta = body.needs_beta();
        Self { json: body.into_json(), selection, beta }
    }
}

fn openai(
    config: &Config,
    rule: Option<&ModelRule>,
    fallback: Option<i64>,
    count: Option<Count>,
    client: &Client,
) -> Result<Selector<CallerBody, OpenAiAdapter>, BoxError> {
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
    selector(config, rule, client, adapter, window)
}

/// Selects in bodies of Anthropic's Messages.
fn messages(
    config: &Config,
    rule: Option<&ModelRule>,
    client: &Client,
) -> Result<Selector<CallerBody, MessagesAdapter>, BoxError> {
    let tokens = rule.and_then(|rule| rule.window);
    let mut models = ClaudeModels::new();
    if let Some(window) = tokens.or(config.unknown_window) {
        models = models.otherwise(ClaudeModel::new(window));
    }
    let mut adapter = MessagesAdapter::new().models(models);
    // Claude's tokenizer is not public; an encoding is meant for a server that has another model.
    if let Some(Count::Exactly(encoding)) = rule.and_then(|rule| rule.count) {
        adapter = adapter.counter(shared_counter(encoding));
    }
    let mut window = adapter.window();
    if let Some(tokens) = tokens {
        window = window.tokens(tokens);
    }
    if let Some(most) = rule.and_then(|rule| rule.at_most).or(config.at_most) {
        window = window.at_most(most);
    }
    selector(config, rule, client, adapter, window)
}

/// Selects with an adapter, by the policy and the sources of the configuration.
fn selector<A: ContextAdapter<CallerBody> + 'static>(
    config: &Config,
    rule: Option<&ModelRule>,
    client: &Client,
    adapter: A,
    window: impl BudgetProvider<CallerBody> + 'static,
) -> Result<Selector<CallerBody, A>, BoxError> {
    let policy = rule.and_then(|rule| rule.policy.clone());
    let factor = rule.map_or(1.0, |rule| rule.factor);
    let mut builder = CupelLayer::builder()
        .adapter(adapter)
        .policy(policy.unwrap_or_else(|| config.policy.clone()))
        .budget(Calibrated { window, factor })
        .hook(CupelOtel::new(CupelVerbosity::StageOnly).metrics(CupelMetrics::global()));
    for retriever in &config.sources {
        builder = builder.source(source::source(retriever, client));
    }
    for source in &config.code_sources {
        builder = builder.source(source.clone());
    }
    Ok(builder.build()?.selector())
}

/// The model's window, with one token of ours taken for `factor` of the model's, and for more where
/// the model's own count of this request has shown it.
#[derive(Debug)]
struct Calibrated<W> {
    window: W,
    factor: f64,
}

impl<W> Calibrated<W> {
    fn in_our_tokens(factor: f64, budget: &ContextBudget) -> Result<ContextBudget, BoxError> {
        let answer = budget.output_reserve();
        let prompt = budget.max_tokens().saturating_sub(answer);
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
        let prompt = (prompt as f64 / factor).floor() as i64;
        let budget = ContextBudget::builder(prompt.saturating_add(answer))
            .output_reserve(answer)
            .estimation_safety_margin_percent(budget.estimation_safety_margin_percent())
            .build()?;
        Ok(budget)
    }
}

impl<W: BudgetProvider<CallerBody>> BudgetProvider<CallerBody> for Calibrated<W> {
    fn budget(&self, request: &CallerBody) -> Result<ContextBudget, BoxError> {
        self.budget_and_origin(request).map(|(budget, _)| budget)
    }

    fn budget_and_origin(
        &self,
        request: &CallerBody,
    ) -> Result<(ContextBudget, BudgetOrigin), BoxError> {
        let (budget, origin) = self.window.budget_and_origin(request)?;
        let counted = request.companion().counted;
        let factor = self.factor * counted.map_or(1.0, f64::from);
        if factor == 1.0 {
            return Ok((budget, origin));
        }
        Ok((Self::in_our_tokens(factor, &budget)?, origin))
    }
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

#[cfg(test)]
mod tests {
    use cupel_json::JsonBody;

    use super::*;
    use crate::tenant::Caller;

    #[test]
    fn the_prompt_shrinks_by_the_factor_and_the_answer_does_not() {
        let json = r#"{"model":"gpt-4","max_tokens":192,"messages":[]}"#;
        let body = JsonBody::parse(Endpoint::Chat, json).unwrap();
        let body = body.with_companion(Caller::default());
        let target = |factor| {
            let window = ModelWindow::new(Models::new());
            let budget = Calibrated { window, factor }.budget(&body).unwrap();
            (budget.target_tokens(), budget.output_reserve())
        };
        assert_eq!(target(1.0), (8_000, 192));
        assert_eq!(target(1.25), (6_400, 192));
        assert_eq!(target(0.8), (10_000, 192));
    }
}
