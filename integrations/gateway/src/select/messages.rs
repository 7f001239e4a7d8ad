//! How bodies of Anthropic's Messages are fitted.

use cupel::Policy;
use cupel::layer::{CupelLayer, CupelService};
use cupel::tokens::shared_counter;
use cupel_json::{ClaudeModel, ClaudeModels, JsonBody, MessagesAdapter};
use cupel_otel::{CupelMetrics, CupelOtel, CupelVerbosity};
use tower::Layer;

use super::budget::Calibrated;
use super::profile::Echo;
use crate::config::{Config, Count, ModelRule};
use crate::proxy::Client;
use crate::source;

/// The layer over a service that sends nothing: what was selected comes back.
pub(super) type Fitting = CupelService<Echo, JsonBody, MessagesAdapter>;

pub(super) fn layer(
    config: &Config,
    rule: Option<&ModelRule>,
    client: &Client,
) -> Result<Fitting, Box<dyn std::error::Error>> {
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
