//! Settings of a planner as data, so that another process can plan as this one did.

use std::sync::{Arc, LazyLock};

use cupel::tokens::{CachedCounter, Encoding, HeuristicCounter, TokenCounter, shared_counter};
use cupel_json::{
    CacheRule, ClaudeModel, ClaudeModels, MessagesAdapter, Model, Models, OpenAiAdapter,
};
use serde::{Deserialize, Serialize};

use crate::planner::Planner;

/// Settings of a [`Planner`] as data.
///
/// ```
/// use cupel_audit::PlannerSettings;
///
/// let settings = PlannerSettings { count: Some("estimate".to_owned()), ..PlannerSettings::default() };
/// assert!(settings.planner().is_ok());
/// let unknown = PlannerSettings { count: Some("abacus".to_owned()), ..PlannerSettings::default() };
/// assert!(unknown.planner().unwrap_err().contains("abacus"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannerSettings {
    /// Window of models that no table has.
    pub unknown_window: Option<i64>,
    /// Counter of all models: the name of an encoding, or `estimate`. By default each model has its own.
    pub count: Option<String>,
    /// Rule of the prompt cache: `prefix` or `breakpoints`. By default each model has its own.
    pub cache: Option<String>,
}

impl PlannerSettings {
    /// The planner with these settings.
    ///
    /// # Errors
    ///
    /// Names a setting that this version does not know.
    pub fn planner(&self) -> Result<Planner, String> {
        let (mut models, mut claude) = (Models::new(), ClaudeModels::new());
        if let Some(window) = self.unknown_window {
            models = models.otherwise(Model::new(window, Encoding::O200k));
            claude = claude.otherwise(ClaudeModel::new(window));
        }
        let mut openai = OpenAiAdapter::new().models(models);
        let mut messages = MessagesAdapter::new().models(claude);
        match self.count.as_deref() {
            None => {}
            // Claude's estimates are scaled to each model.
            Some("estimate") => openai = openai.counter(estimates()),
            Some(name) => {
                let known = [Encoding::O200k, Encoding::Cl100k];
                let encoding = known.into_iter().find(|encoding| encoding.name() == name);
                let encoding = encoding.ok_or_else(|| {
                    format!("count: {name:?}, expected estimate, o200k_base or cl100k_base")
                })?;
                openai = openai.counter(shared_counter(encoding));
                messages = messages.counter(shared_counter(encoding));
            }
        }
        match self.cache.as_deref() {
            None => {}
            Some("prefix") => openai = openai.cache(CacheRule::Prefix),
            Some("breakpoints") => openai = openai.cache(CacheRule::Breakpoints),
            Some(other) => {
                return Err(format!("cache: {other:?}, expected prefix or breakpoints"));
            }
        }
        Ok(Planner::new().openai(openai).messages(messages))
    }
}

/// Estimates that are remembered from turn to turn.
fn estimates() -> Arc<dyn TokenCounter> {
    static SHARED: LazyLock<Arc<CachedCounter<HeuristicCounter>>> =
        LazyLock::new(|| Arc::new(CachedCounter::new(HeuristicCounter)));
    Arc::clone(&*SHARED) as Arc<dyn TokenCounter>
}
