//! The model of a request, and its entry in rig's catalog.

use std::fmt;
use std::sync::Arc;

use cupel::gather::BoxError;
use cupel::layer::{ModelLookup, WindowLimits};
use cupel::tokens::{
    ClaudeTokenizer, Encoding, ModelName, TokenCounter, ToolPrices, counter_for_model,
};
use rig_core::catalog::{Catalog, ModelSpec};
use rig_core::completion::CompletionRequest;
use rig_core::driver::Transport;
use rig_core::operation::Completion;
use rig_core::providers::registry::ProviderId;
use rig_core::wire::Wire;
use rig_core::{DynModel, Model};

use crate::CompletionCall;

/// A model by its provider and its name there.
///
/// It is made of a catalog name, `vendor/model`, or of a rig model, typed or erased:
///
/// ```
/// use cupel_rig::ModelId;
/// use rig_core::test_utils::MockCompletionModel;
///
/// assert_eq!(ModelId::from("openai/gpt-4o").to_string(), "openai/gpt-4o");
/// let model = MockCompletionModel::text("It closes at six.");
/// assert_eq!(ModelId::from(&model), ModelId::from(&model.erase()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelId {
    vendor: String,
    model: String,
}

impl From<&str> for ModelId {
    fn from(reference: &str) -> Self {
        let name = ModelName::parse(reference);
        Self {
            vendor: name.vendor().unwrap_or_default().to_owned(),
            model: name.model().to_owned(),
        }
    }
}

impl From<&DynModel<Completion>> for ModelId {
    fn from(model: &DynModel<Completion>) -> Self {
        Self { vendor: model.name().to_owned(), model: model.id().unwrap_or_default().to_owned() }
    }
}

impl<W: Wire<Op = Completion>, T: Transport<W>> From<&Model<W, T>> for ModelId {
    fn from(model: &Model<W, T>) -> Self {
        Self { vendor: model.name().to_owned(), model: model.id().unwrap_or_default().to_owned() }
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.vendor.as_str() {
            "" => f.write_str(&self.model),
            vendor => write!(f, "{vendor}/{}", self.model),
        }
    }
}

/// The model of each request, in rig's catalog: the one that the request names, or else the one
/// that was given.
#[derive(Clone, Default)]
pub struct CatalogModels {
    pub(crate) model: ModelId,
    pub(crate) catalog: Option<Arc<Catalog>>,
}

/// A budget by the request's model and `max_tokens`;
/// [`RigAdapter::window`](crate::RigAdapter::window) makes one.
///
/// The window comes from rig's catalog, which needs no network. What the model may write is the
/// request's `max_tokens`; without it, 4,096 tokens or a quarter of the window, whichever is less. For
/// Claude's models 10 % of the budget stays free (15 % without feature `tiktoken`), because their tokens are
/// estimated. `safety_margin_percent` changes that.
///
/// ```
/// use cupel::layer::BudgetProvider as _;
/// use cupel_rig::RigAdapter;
/// use rig_core::completion::CompletionRequest;
///
/// let window = RigAdapter::for_model("openai/gpt-4o").window();
/// let request = CompletionRequest::new("Hello").max_tokens(1_000);
/// assert_eq!(window.budget(&request)?.target_tokens(), 127_000);
///
/// let error = RigAdapter::for_model("openai/gpt-nonsense").window().budget(&request).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the window of model \"openai/gpt-nonsense\" is not in the catalog; set it with \
///      CatalogWindow::tokens(..), or give a catalog that lists the model with \
///      RigAdapter::catalog(..)",
/// );
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub type CatalogWindow = cupel::layer::ModelWindow<CatalogModels>;

impl CatalogModels {
    /// The counter of a request's model, or of the one that was given.
    pub(crate) fn counter(&self, request: Option<&CompletionRequest>) -> Arc<dyn TokenCounter> {
        match self.claude(request) {
            Some(claude) => claude.counter(),
            None => counter_for_model(self.name(request)),
        }
    }

    /// Token prices of tools, if the request's model is one of OpenAI's. Other models take tools as JSON.
    pub(crate) fn tool_prices(&self, request: &CompletionRequest) -> Option<ToolPrices> {
        Encoding::for_model(self.name(Some(request))).ok().map(ToolPrices::of)
    }

    /// The tokenizer of a request's model, if it is one of Claude's: whoever serves it.
    pub(crate) fn claude(&self, request: Option<&CompletionRequest>) -> Option<ClaudeTokenizer> {
        let anthropic = self.model.vendor == "anthropic";
        ClaudeTokenizer::of_model(self.name(request))
            // By another name of Anthropic's nobody can tell which it is.
            .or(anthropic.then_some(ClaudeTokenizer::Newer))
    }

    pub(crate) fn name<'a>(&'a self, request: Option<&'a CompletionRequest>) -> &'a str {
        request.and_then(|request| request.model.as_deref()).unwrap_or(&self.model.model)
    }

    /// Returns true if a conversation has to begin with a user message. OpenAI's APIs take any first
    /// message; for others this is not known, so it is true.
    pub(crate) fn user_first(&self, request: &CompletionRequest) -> bool {
        let model = self.name(Some(request));
        let vendor = ProviderId::catalog(&self.model.vendor);
        let provider = vendor.or_else(|| self.spec(model).map(|spec| spec.provider));
        provider != ProviderId::catalog("openai")
    }

    fn spec(&self, model: &str) -> Option<&ModelSpec> {
        let catalog = self.catalog.as_deref().unwrap_or_else(|| Catalog::builtin());
        let provider = ProviderId::catalog(&self.model.vendor);
        // A dated snapshot has the limits of its model.
        let found = provider.and_then(|provider| catalog.find(provider, model));
        found.or_else(|| catalog.resolve(model))
    }
}

impl<R: CompletionCall> ModelLookup<R> for CatalogModels {
    fn limits(&self, call: &R) -> Result<WindowLimits, BoxError> {
        let model = self.name(Some(call.completion()));
        if let Some(window) = self.spec(model).and_then(|spec| spec.context_window) {
            return Ok(WindowLimits::new(window.into()));
        }
        if model.is_empty() {
            return Err("no model is named; name one in RigAdapter::for_model(\"vendor/model\"), \
                        or set the window with CatalogWindow::tokens(..)"
                .into());
        }
        let model = ModelId { vendor: self.model.vendor.clone(), model: model.to_owned() };
        let problem = format!(
            "the window of model {:?} is not in the catalog; set it with \
             CatalogWindow::tokens(..), or give a catalog that lists the model with \
             RigAdapter::catalog(..)",
            model.to_string()
        );
        Err(problem.into())
    }

    fn output_tokens(&self, call: &R) -> Result<Option<i64>, BoxError> {
        let limit = call.completion().max_tokens;
        Ok(limit.map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX)))
    }

    fn safety_margin_percent(&self, call: &R) -> f64 {
        let call = Some(call.completion());
        if self.claude(call).is_some() {
            return ClaudeTokenizer::MARGIN_PERCENT;
        }
        Encoding::for_model(self.name(call)).map_or(0.0, Encoding::margin_percent)
    }
}

impl fmt::Debug for CatalogModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A catalog is some thousand models.
        f.debug_struct("CatalogModels").field("model", &self.model).finish_non_exhaustive()
    }
}
