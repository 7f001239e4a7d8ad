//! Selectors for one group of models.

use std::sync::Arc;

use cupel::gather::BoxError;
use cupel::layer::{
    BudgetOrigin, BudgetProvider, Compaction, ContextAdapter, ContextError, CupelLayer,
    ModelWindow, SelectedRequest, Selector, WaitingJudge,
};
use cupel::tokens::{ClaudeTokenizer, Encoding, LocalFamily};
use cupel::{ContextBudget, Policy};
use cupel_audit::{Planner, PlannerSettings};
use cupel_json::{
    CacheRule, ClaudeModel, ClaudeModels, Endpoint, MessagesAdapter, Model, Models, OpenAiAdapter,
};
use cupel_otel::{CupelMetrics, CupelOtel, CupelVerbosity};

use crate::config::{Config, CountMethod, ModelRule, Upstream};
use crate::credentials::{Caller, CallerBody};
use crate::proxy::UpstreamClient;
use crate::retriever;
use crate::select::counting::Counting;
use crate::select::dry_planner::DryPlanner;

/// Rule for models, with its selectors.
#[derive(Debug)]
pub(super) struct Profile {
    /// Names of the models; empty for models that no rule names.
    pub(super) pattern: String,
    /// Selectors for models that the built-in tables know, or for all if the rule says how to count.
    known: ApiSelectors,
    /// Selectors for other models, by family.
    families: Vec<(LocalFamily, ApiSelectors)>,
    /// Window that is set for all models of the profile.
    window: Option<i64>,
    /// Window of models that the table does not know.
    unknown_window: Option<i64>,
    /// Window of models of which nothing else is known.
    last_resort: Option<i64>,
    /// Set if the rule says how to count.
    counts: bool,
    /// Set if the rule wants other models' counts estimated, and those of known models, too.
    estimates: bool,
    /// Number of the model's tokens that one of ours stands for.
    pub(super) factor: f64,
}

/// Parts that all profiles share.
pub(super) struct ProfileParts {
    /// Judge by meaning.
    pub(super) meaning: Option<WaitingJudge>,
    /// Summaries of what left the window.
    pub(super) compaction: Option<Compaction<CallerBody>>,
}

impl Profile {
    pub(super) fn new(
        config: &Config,
        rule: Option<&ModelRule>,
        client: &UpstreamClient,
        shared: &ProfileParts,
    ) -> Result<Self, String> {
        let default = ModelRule::new("");
        let rule = rule.unwrap_or(&default);
        let build = ProfileBuilder { config, rule, client, shared };
        let rule = build.rule;
        let built = || -> Result<Self, BoxError> {
            let counting = Counting::of_rule(rule)?;
            let of_family = |family| {
                let counting = Counting::of_family(rule, family);
                Ok((family, build.selectors(Some(&counting))?))
            };
            let families = LocalFamily::ALL.into_iter().map(of_family);
            Ok(Self {
                pattern: rule.name.clone(),
                known: build.selectors(counting.as_ref())?,
                families: families.collect::<Result<_, BoxError>>()?,
                window: rule.window.or(config.window),
                unknown_window: config.unknown_window,
                last_resort: rule.at_most.or(config.at_most),
                counts: counting.is_some(),
                estimates: rule.count == Some(CountMethod::Estimate),
                factor: rule.factor,
            })
        };
        built().map_err(|error| error.to_string())
    }

    /// Returns whether only the upstream can tell the window of a model.
    pub(super) fn needs_window(&self, endpoint: Endpoint, model: &str) -> bool {
        let is_set = self.window.or(self.unknown_window).is_some();
        !is_set && (is_open(model) || !is_in_table(endpoint, model))
    }

    /// Selects in a body; `None` if nothing is known about its model.
    pub(super) async fn select(
        &self,
        body: CallerBody,
    ) -> Option<Result<SelectedRequest<CallerBody>, ContextError>> {
        let (selectors, body) = self.selectors_of(body)?;
        Some(match body.endpoint() {
            Endpoint::Messages => selectors.messages.select(body).await,
            _ => selectors.openai.select(body).await,
        })
    }

    /// Returns the planner of a body, and the body with its window; `None` if nothing is known about its model.
    pub(super) fn dry_planner(&self, body: CallerBody) -> Option<(&DryPlanner, CallerBody)> {
        let (selectors, body) = self.selectors_of(body)?;
        Some((&selectors.dry, body))
    }

    /// Returns the selectors of a body, and the body with its window.
    fn selectors_of(&self, mut body: CallerBody) -> Option<(&ApiSelectors, CallerBody)> {
        let (endpoint, model) = (body.endpoint(), body.model().unwrap_or_default());
        let is_known = is_in_table(endpoint, model);
        if self.window.is_none() {
            let told = body.companion().window;
            let window = match (is_known, is_open(model)) {
                (true, false) => told,
                (true, true) => told.or(self.unknown_window),
                (false, _) => Some(told.or(self.unknown_window).or(self.last_resort)?),
            };
            if window != told {
                let caller = Caller { window, ..body.companion().clone() };
                body = body.with_companion(caller);
            }
        }
        // A Claude model that is too new for the table still has Claude's tokenizer.
        let model = body.model().unwrap_or_default();
        let is_messages = endpoint == Endpoint::Messages;
        let is_claude = is_messages && ClaudeTokenizer::of_model(model).is_some();
        let by_vendor = self.counts || (!self.estimates && (is_known || is_claude));
        let family = LocalFamily::of_model(model);
        let of_family = || self.families.iter().find(|(other, _)| *other == family);
        let selectors = match by_vendor {
            true => &self.known,
            false => of_family().map_or(&self.known, |(_, selectors)| selectors),
        };
        Some((selectors, body))
    }
}

/// Selectors for all APIs, with one way to count.
#[derive(Debug)]
struct ApiSelectors {
    openai: Selector<CallerBody, OpenAiAdapter>,
    messages: Selector<CallerBody, MessagesAdapter>,
    dry: DryPlanner,
}

/// Window of models that the table does not know, until the real one is.
const NOT_KNOWN: i64 = i64::MAX / 4;

/// Returns whether the built-in table has a model.
fn is_in_table(endpoint: Endpoint, model: &str) -> bool {
    match endpoint {
        Endpoint::Messages => ClaudeModels::new().get(model).is_ok(),
        _ => Models::new().get(model).is_ok(),
    }
}

/// Returns whether a model of the table runs on servers of anybody, whose settings decide its window.
fn is_open(model: &str) -> bool {
    model.contains("gpt-oss")
}

/// Parts that the selectors of a profile are built from.
struct ProfileBuilder<'a> {
    config: &'a Config,
    rule: &'a ModelRule,
    client: &'a UpstreamClient,
    shared: &'a ProfileParts,
}

impl ProfileBuilder<'_> {
    /// Builds selectors that count by the models' vendors unless told otherwise.
    fn selectors(&self, counting: Option<&Counting>) -> Result<ApiSelectors, BoxError> {
        let (openai, openai_budget) = self.openai(counting);
        let (messages, messages_budget) = self.messages(counting);
        let dry = DryPlanner {
            planner: Planner::new().openai(openai.clone()).messages(messages.clone()),
            policy: self.policy(),
            settings: self.settings(counting),
            openai: Arc::clone(&openai_budget),
            messages: Arc::clone(&messages_budget),
        };
        let openai = self.selector(openai, openai_budget)?;
        let messages = self.selector(messages, messages_budget)?;
        Ok(ApiSelectors { openai, messages, dry })
    }

    /// Returns adapter and budget for Chat Completions and Responses.
    fn openai(&self, counting: Option<&Counting>) -> (OpenAiAdapter, CallerBudget) {
        let models = Models::new().otherwise(Model::new(NOT_KNOWN, Encoding::O200k));
        let window = ModelWindow::new(models.clone());
        let mut adapter = OpenAiAdapter::new().models(models);
        if let Some(counting) = counting {
            adapter = counting.apply(adapter);
        }
        adapter = adapter.user_first(has_templates(self.config));
        if let Some(cache) = self.cache() {
            adapter = adapter.cache(cache);
        }
        (adapter, self.budget(window))
    }

    /// Returns adapter and budget for Anthropic's Messages.
    fn messages(&self, counting: Option<&Counting>) -> (MessagesAdapter, CallerBudget) {
        let models = ClaudeModels::new().otherwise(ClaudeModel::new(NOT_KNOWN));
        let adapter = MessagesAdapter::new().models(models.clone());
        // The margin is for what is not known of Claude's tokenizer.
        match counting {
            None => {
                let window = adapter.window();
                (adapter, self.budget(window))
            }
            Some(counting) => (counting.apply(adapter), self.budget(ModelWindow::new(models))),
        }
    }

    fn cache(&self) -> Option<CacheRule> {
        self.rule.cache.or_else(|| other_server(self.config))
    }

    fn policy(&self) -> Policy {
        self.rule.policy.clone().unwrap_or_else(|| self.config.policy.clone())
    }

    /// Returns the settings of the adapters as data.
    fn settings(&self, counting: Option<&Counting>) -> PlannerSettings {
        let local = counting.and_then(|counting| counting.settings.clone());
        let files = counting.is_some() && local.is_none();
        let cache = self.cache().map(|rule| match rule {
            CacheRule::Breakpoints => "breakpoints",
            _ => "prefix",
        });
        let (unknown_window, cache) = (Some(NOT_KNOWN), cache.map(str::to_owned));
        let user_first = has_templates(self.config);
        PlannerSettings { unknown_window, count: None, cache, user_first, local, files }
    }

    fn budget<M>(&self, mut window: ModelWindow<M>) -> CallerBudget
    where
        M: Clone + Send + Sync + 'static,
        ModelWindow<M>: BudgetProvider<CallerBody>,
    {
        let Self { config, rule, .. } = self;
        if let Some(tokens) = rule.window.or(config.window) {
            window = window.tokens(tokens);
        }
        let at_most = rule.at_most.or(config.at_most);
        if let Some(most) = at_most {
            window = window.at_most(most);
        }
        Arc::new(CalibratedWindow { window, at_most, factor: rule.factor })
    }

    fn selector<A>(
        &self,
        adapter: A,
        budget: CallerBudget,
    ) -> Result<Selector<CallerBody, A>, BoxError>
    where
        A: ContextAdapter<CallerBody> + 'static,
    {
        let Self { config, client, shared, .. } = self;
        let mut policy = self.policy();
        // The page shows the savings against newest-first trimming.
        if let (Some(plan), true) = (policy.plan(), config.page.token.is_some()) {
            let plan = plan.clone().compare(true);
            policy = policy.with_plan(plan);
        }
        let mut builder = CupelLayer::builder()
            .adapter(adapter)
            .policy(policy)
            .budget(budget)
            .hook(CupelOtel::new(CupelVerbosity::StageOnly).metrics(CupelMetrics::global()));
        if let Some(meaning) = &shared.meaning {
            builder = builder.waiting_judge(meaning.clone());
        }
        for retriever in &config.sources {
            builder = builder.source(retriever::source(retriever, client));
        }
        for source in &config.code_sources {
            builder = builder.source(source.clone());
        }
        if let Some(compaction) = &shared.compaction {
            builder = builder.compaction(compaction.clone());
        }
        Ok(builder.build()?.selector())
    }
}

/// Budget of a caller's request.
type CallerBudget = Arc<dyn BudgetProvider<CallerBody>>;

/// Window of a model, in our tokens. One of ours stands for `factor` of the model's, and for more if the
/// model's own count of this request has shown it.
///
/// A window that the upstream told is an upper limit, too.
#[derive(Debug)]
struct CalibratedWindow<M> {
    window: ModelWindow<M>,
    /// Limit that `window` has.
    at_most: Option<i64>,
    factor: f64,
}

/// Label of a window that the upstream told, for error messages.
const TOLD: &str = "upstream's window";

/// A request that was counted needs no margin for the estimate.
fn in_our_tokens(
    factor: f64,
    is_counted: bool,
    budget: &ContextBudget,
) -> Result<ContextBudget, BoxError> {
    let answer = budget.output_reserve();
    let prompt = budget.max_tokens().saturating_sub(answer);
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    let prompt = (prompt as f64 / factor).floor() as i64;
    let margin = if is_counted { 0.0 } else { budget.estimation_safety_margin_percent() };
    let budget = ContextBudget::builder(prompt.saturating_add(answer))
        .output_reserve(answer)
        .estimation_safety_margin_percent(margin)
        .build()?;
    Ok(budget)
}

impl<M> BudgetProvider<CallerBody> for CalibratedWindow<M>
where
    M: Clone + Send + Sync,
    ModelWindow<M>: BudgetProvider<CallerBody>,
{
    fn budget(&self, request: &CallerBody) -> Result<ContextBudget, BoxError> {
        self.budget_and_origin(request).map(|(budget, _)| budget)
    }

    fn budget_and_origin(
        &self,
        request: &CallerBody,
    ) -> Result<(ContextBudget, BudgetOrigin), BoxError> {
        let Caller { counted, window: told, .. } = *request.companion();
        let told = told.filter(|told| self.at_most.is_none_or(|most| *told < most));
        let (budget, mut origin) = match told {
            None => self.window.budget_and_origin(request)?,
            Some(told) => {
                let (budget, mut origin) =
                    self.window.clone().at_most(told).budget_and_origin(request)?;
                if budget.max_tokens() == told {
                    origin.window = TOLD;
                }
                (budget, origin)
            }
        };
        let factor = self.factor * counted.map_or(1.0, f64::from);
        let is_counted = counted.is_some();
        if factor == 1.0 {
            return Ok((budget, origin));
        }
        origin.grid_window = Some(budget.max_tokens());
        Ok((in_our_tokens(factor, is_counted, &budget)?, origin))
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

/// Returns whether chat templates may write the requests. Many refuse a conversation that begins with the
/// assistant, or print its words as the user's.
fn has_templates(config: &Config) -> bool {
    config.upstreams.iter().any(|upstream| !upstream.is_vendors())
}

/// First model of OpenAI's whose cache matches only at breakpoints.
const WITH_BREAKPOINTS: &str = "gpt-5.6";

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
            let budget = CalibratedWindow { window, at_most: None, factor }.budget(&body).unwrap();
            (budget.target_tokens(), budget.output_reserve())
        };
        assert_eq!(target(1.0), (8_000, 192));
        assert_eq!(target(1.25), (6_400, 192));
        assert_eq!(target(0.8), (10_000, 192));
    }
}
