//! The models that are known, by name, and the counter and rules of one model.

mod claude;
mod local;
mod openai;

pub use claude::{ClaudeModel, ClaudeModels, ClaudeWindow};
pub use local::LocalRules;
pub(crate) use local::{CountRules, spaced};
pub use openai::{CacheRule, Model, Models, ToolRule};

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use cupel::layer::WindowLimits;
use cupel::tokens::{FormatOverhead, TokenCounter};

/// Facts of one vendor's models, and how their names are read.
pub trait ModelFacts: Copy + Send + Sync + 'static {
    /// The built-in models, by family.
    const TABLE: &'static [(&'static str, Self)];
    /// Code that adds a model, for errors: the table, and a model's facts.
    const ADVICE: [&'static str; 2];

    /// Tokens that the vendor's format adds around messages.
    const FORMAT: FormatOverhead;
    /// Text where nothing is left of a result.
    const EMPTY_RESULT: &'static str;

    /// Window of the model.
    fn limits(&self) -> WindowLimits;

    /// Counter of its texts.
    fn counter(&self) -> Arc<dyn TokenCounter>;

    /// Percent of a budget that stays free for what its counts may miss.
    fn margin_percent(&self) -> f64 {
        0.0
    }

    /// Length of the match if a name is one of a family's; the longest decides.
    fn fit(model: &str, family: &str) -> Option<usize>;
}

/// The models of one vendor that are known, by name: [`Models`] or [`ClaudeModels`].
#[derive(Debug, Clone)]
#[must_use]
pub struct ModelTable<M> {
    added: BTreeMap<String, M>,
    otherwise: Option<M>,
}

impl<M> Default for ModelTable<M> {
    fn default() -> Self {
        Self { added: BTreeMap::new(), otherwise: None }
    }
}

impl<M: ModelFacts> ModelTable<M> {
    /// The built-in table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a model, or changes one of the table, with its variants. Variants that the table has
    /// under a longer name stay as they are: `gpt-4o` does not change `gpt-4o-mini`.
    pub fn with(mut self, name: impl Into<String>, model: M) -> Self {
        self.added.insert(name.into(), model);
        self
    }

    /// Takes every unknown model for this one, instead of refusing it.
    pub fn otherwise(mut self, model: M) -> Self {
        self.otherwise = Some(model);
        self
    }

    /// Facts of a model.
    ///
    /// # Errors
    ///
    /// [`UnknownModel`] when nothing is known of it: a wrong window is worse than none.
    pub fn get(&self, model: &str) -> Result<M, UnknownModel> {
        let added = self.added.iter().map(|(family, facts)| (family.as_str(), *facts));
        // Of two that are as long the last counts, so what was added goes after the table.
        let known = M::TABLE.iter().copied().chain(added);
        known
            .filter_map(|(family, facts)| Some((M::fit(model, family)?, facts)))
            .max_by_key(|(length, _)| *length)
            .map(|(_, facts)| facts)
            .or(self.otherwise)
            .ok_or_else(|| UnknownModel { model: model.to_owned(), advice: M::ADVICE })
    }

    /// As [`get`](Self::get), for a request that may not name its model.
    pub(crate) fn of_request(&self, model: Option<&str>) -> Result<M, UnknownModel> {
        self.get(model.unwrap_or_default())
    }
}

/// A model that is in no table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownModel {
    model: String,
    advice: [&'static str; 2],
}

impl fmt::Display for UnknownModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, advice: [models, facts] } = self;
        if model.is_empty() {
            return write!(
                f,
                "the request names no model; name one, or say what to take it for with \
                 {models}.otherwise({facts}))"
            );
        }
        write!(
            f,
            "nothing is known about model {model:?}; add it with {models}.with({model:?}, {facts}))"
        )
    }
}

impl std::error::Error for UnknownModel {}

/// A model's counter and rules.
#[derive(Clone)]
pub(crate) struct Meter<M> {
    pub(crate) model: M,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) format: FormatOverhead,
    /// Rules of another server than the vendor's.
    pub(crate) local: Option<LocalRules>,
}

impl<M: ModelFacts> Meter<M> {
    /// Counts as the model does, where the rules do not say otherwise.
    pub(crate) fn new(model: M, rules: &CountRules) -> Self {
        let counter = rules.counter.as_ref().map_or_else(|| model.counter(), Arc::clone);
        let local = rules.local.clone();
        let format = local.as_ref().map_or(M::FORMAT, |local| local.format);
        Self { model, counter, format, local }
    }

    pub(crate) fn text(&self, text: &str) -> i64 {
        // An empty text needs no entry in the cache.
        if text.is_empty() { 0 } else { self.counter.count(text).max(0) }
    }

    /// Tokens of a message in this role beside its content.
    pub(crate) fn message(&self, role: &str) -> i64 {
        self.format.message(&*self.counter, role)
    }
}

impl<M: fmt::Debug> fmt::Debug for Meter<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter")
            .field("model", &self.model)
            .field("counter", &self.counter.name())
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}
