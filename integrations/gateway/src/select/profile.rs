//! Selectors for one group of models.

use std::sync::{Arc, LazyLock};

use cupel::ContextBudget;
use cupel::gather::BoxError;
use cupel::layer::{
    BudgetOrigin, BudgetProvider, ContextAdapter, ContextError, CupelLayer, ModelWindow,
    SelectedRequest, Selector,
};
use cupel::tokens::{CachedCounter, Encoding, HeuristicCounter, TokenCounter, shared_counter};
use cupel_json::{
    CacheRule, ClaudeModel, ClaudeModels, Endpoint, MessagesAdapter, Model, Models, OpenAiAdapter,
};
use cupel_otel::{CupelMetrics, CupelOtel, CupelVerbosity};

use crate::config::{Config, CountMethod, ModelRule, Upstream};
use crate::credentials::CallerBody;
use crate::proxy::UpstreamClient;
use crate::retriever;

/// Rule for models, with its selectors.
#[derive(Debug)]
pub(super) struct Profile {
    /// Names of the models; empty for models that no rule names.
    pub(super) pattern: String,
    /// Selector for models with a known encoding.
    exact: Selector<CallerBody, OpenAiAdapter>,
    /// Selector for other models; `None` if their window is not known.
    estimated: Option<Selector<CallerBody, OpenAiAdapter>>,
    /// Set if the rule says how to count. `exact` is then for all models.
    counts: bool,
    /// Selector for Anthropic's Messages.
    messages: Selector<CallerBody, MessagesAdapter>,
    /// Number of the model's tokens that one of ours stands for.
    pub(super) factor: f64,
}

impl Profile {
    pub(super) fn new(
        config: &Config,
        rule: Option<&ModelRule>,
        client: &UpstreamClient,
    ) -> Result<Self, String> {
        let default = ModelRule::new("");
        let build = ProfileBuilder { config, rule: rule.unwrap_or(&default), client };
        let rule = build.rule;
        let built = || -> Result<Self, BoxError> {
            let fallback = rule.window.or(config.unknown_window);
            let estimated = fallback.map(|_| build.openai(fallback, Some(CountMethod::Estimate)));
            Ok(Self {
                pattern: rule.name.clone(),
                exact: build.openai(fallback, rule.count)?,
                estimated: estimated.transpose()?,
                counts: rule.count.is_some(),
                factor: rule.factor,
                messages: build.messages(fallback)?,
            })
        };
        built().map_err(|error| error.to_string())
    }

    /// Selects in a body; `None` if nothing is known about its model.
    pub(super) async fn select(
        &self,
        body: CallerBody,
    ) -> Option<Result<SelectedRequest<CallerBody>, ContextError>> {
        let model = body.model().unwrap_or_default();
        if body.endpoint() == Endpoint::Messages {
            let is_known = self.estimated.is_some() || ClaudeModels::new().get(model).is_ok();
            return if is_known { Some(self.messages.select(body).await) } else { None };
        }
        let is_known = Models::new().get(model).is_ok();
        let selector = match &self.estimated {
            Some(estimated) if !is_known && !self.counts => estimated,
            None if !is_known => return None,
            _ => &self.exact,
        };
        Some(selector.select(body).await)
    }
}

/// Parts that the selectors of a profile are built from.
struct ProfileBuilder<'a> {
    config: &'a Config,
    rule: &'a ModelRule,
    client: &'a UpstreamClient,
}

impl ProfileBuilder<'_> {
    /// Builds a selector for Chat Completions and Responses. `fallback` is the window of unknown models.
    fn openai(
        &self,
        fallback: Option<i64>,
        count: Option<CountMethod>,
    ) -> Result<Selector<CallerBody, OpenAiAdapter>, BoxError> {
        let mut models = Models::new();
        if let Some(window) = fallback {
            models = models.otherwise(Model::new(window, Encoding::O200k));
        }
        let window = ModelWindow::new(models.clone());
        let mut adapter = OpenAiAdapter::new().models(models);
        adapter = match count {
            Some(CountMethod::Exactly(encoding)) => adapter.counter(shared_counter(encoding)),
            Some(CountMethod::Estimate) => adapter.counter(estimates()),
            None => adapter,
        };
        if let Some(cache) = self.rule.cache.or_else(|| other_server(self.config)) {
            adapter = adapter.cache(cache);
        }
        self.selector(adapter, window)
    }

    /// Builds a selector for Anthropic's Messages. `fallback` is the window of unknown models.
    fn messages(
        &self,
        fallback: Option<i64>,
    ) -> Result<Selector<CallerBody, MessagesAdapter>, BoxError> {
        let mut models = ClaudeModels::new();
        if let Some(window) = fallback {
            models = models.otherwise(ClaudeModel::new(window));
        }
        let mut adapter = MessagesAdapter::new().models(models);
        // Claude's tokenizer is not public: an encoding is meant for a server with another model.
        if let Some(CountMethod::Exactly(encoding)) = self.rule.count {
            adapter = adapter.counter(shared_counter(encoding));
        }
        let window = adapter.window();
        self.selector(adapter, window)
    }

    fn selector<A, M>(
        &self,
        adapter: A,
        mut window: ModelWindow<M>,
    ) -> Result<Selector<CallerBody, A>, BoxError>
    where
        A: ContextAdapter<CallerBody> + 'static,
        ModelWindow<M>: BudgetProvider<CallerBody> + 'static,
    {
        let Self { config, rule, client } = self;
        if let Some(tokens) = rule.window {
            window = window.tokens(tokens);
        }
        if let Some(most) = rule.at_most.or(config.at_most) {
            window = window.at_most(most);
        }
        let mut policy = rule.policy.clone().unwrap_or_else(|| config.policy.clone());
        // The page shows the savings against newest-first trimming.
        if let (Some(plan), true) = (policy.plan(), config.page.token.is_some()) {
            let plan = plan.clone().compare(true);
            policy = policy.with_plan(plan);
        }
        let mut builder = CupelLayer::builder()
            .adapter(adapter)
            .policy(policy)
            .budget(CalibratedWindow { window, factor: rule.factor })
            .hook(CupelOtel::new(CupelVerbosity::StageOnly).metrics(CupelMetrics::global()));
        for retriever in &config.sources {
            builder = builder.source(retriever::source(retriever, client));
        }
        for source in &config.code_sources {
            builder = builder.source(source.clone());
        }
        Ok(builder.build()?.selector())
    }
}

/// Window of a model, in our tokens. One of ours stands for `factor` of the model's, and for more if the
/// model's own count of this request has shown it.
#[derive(Debug)]
struct CalibratedWindow<W> {
    window: W,
    factor: f64,
}

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

impl<W: BudgetProvider<CallerBody>> BudgetProvider<CallerBody> for CalibratedWindow<W> {
    fn budget(&self, request: &CallerBody) -> Result<ContextBudget, BoxError> {
        self.budget_and_origin(request).map(|(budget, _)| budget)
    }

    fn budget_and_origin(
        &self,
        request: &CallerBody,
    ) -> Result<(ContextBudget, BudgetOrigin), BoxError> {
        let (budget, origin) = self.window.budget_and_origin(request)?;
        let factor = self.factor * request.companion().counted.map_or(1.0, f64::from);
        let budget = if factor == 1.0 { budget } else { in_our_tokens(factor, &budget)? };
        Ok((budget, origin))
    }
}

/// Returns the cache rule of servers that are not OpenAI's: it is not known what they do with breakpoints,
/// whatever their models are called.
fn other_server(config: &Config) -> Option<CacheRule> {
    let claims = |upstream: &&Upstream| upstream.claims(Some(WITH_BREAKPOINTS));
    let asked = config.upstreams.iter().filter(|upstream| claims(upstream).is_some());
    let asked = asked.max_by_key(claims)?;
    (!asked.url().starts_with("https://api.openai.com/")).then_some(CacheRule::Prefix)
}

/// First model of OpenAI's whose cache matches only at breakpoints.
const WITH_BREAKPOINTS: &str = "gpt-5.6";

/// Returns the counter of estimates that all selectors share.
fn estimates() -> Arc<dyn TokenCounter> {
    static SHARED: LazyLock<Arc<CachedCounter<HeuristicCounter>>> =
        LazyLock::new(|| Arc::new(CachedCounter::new(HeuristicCounter)));
    Arc::clone(&*SHARED) as Arc<dyn TokenCounter>
}

#[cfg(test)]
mod tests {
    use cupel_json::JsonBody;

    use super::*;
    use crate::credentials::Caller;

    #[test]
    fn the_prompt_shrinks_by_the_factor_and_the_answer_does_not() {
        let json = r#"{"model":"gpt-4","max_tokens":192,"messages":[]}"#;
        let body = JsonBody::parse(Endpoint::Chat, json).unwrap();
        let body = body.with_companion(Caller::default());
        let target = |factor| {
            let window = ModelWindow::new(Models::new());
            let budget = CalibratedWindow { window, factor }.budget(&body).unwrap();
            (budget.target_tokens(), budget.output_reserve())
        };
        assert_eq!(target(1.0), (8_000, 192));
        assert_eq!(target(1.25), (6_400, 192));
        assert_eq!(target(0.8), (10_000, 192));
    }
}
