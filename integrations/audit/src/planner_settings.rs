//! Settings of a planner as data, so that another process can plan as this one did.

use std::sync::{Arc, LazyLock};

use cupel::tokens::{CachedCounter, Encoding, HeuristicCounter, TokenCounter, shared_counter};
use cupel_json::{
    CacheRule, ClaudeModel, ClaudeModels, MessagesAdapter, Model, Models, OpenAiAdapter,
};
use serde::{Deserialize, Serialize};

use crate::local_count::{LocalCountSettings, encoding};
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
    /// Set if a request that is cut begins with the user in Chat Completions and Responses, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub user_first: bool,
    /// Counting of a local server, instead of `count`. By default each model is counted by its vendor's rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<LocalCountSettings>,
    /// Set if the tokens were counted by files of the model. Another process may not have them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub files: bool,
}

impl PlannerSettings {
    /// The planner with these settings.
    ///
    /// # Errors
    ///
    /// Names a setting that this version does not know, or says that files are needed.
    pub fn planner(&self) -> Result<Planner, String> {
        if self.files {
            return Err("the tokens were counted by files of the model".to_owned());
        }
        let (mut models, mut claude) = (Models::new(), ClaudeModels::new());
        if let Some(window) = self.unknown_window {
            models = models.otherwise(Model::new(window, Encoding::O200k));
            claude = claude.otherwise(ClaudeModel::new(window));
        }
        let mut openai = OpenAiAdapter::new().models(models).user_first(self.user_first);
        let mut messages = MessagesAdapter::new().models(claude);
        match self.count.as_deref() {
            None => {}
            // Claude's estimates are scaled to each model.
            Some("estimate") => openai = openai.counter(estimates()),
            Some(name) => {
                let encoding = encoding(name)?;
                openai = openai.counter(shared_counter(encoding));
                messages = messages.counter(shared_counter(encoding));
            }
        }
        if let Some(local) = &self.local {
            let (counter, rules) = local.rules()?;
            openai = openai.counter(Arc::clone(&counter)).local(rules.clone());
            messages = messages.counter(counter).local(rules);
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
