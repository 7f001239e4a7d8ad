//! The budget of a request, from rig's own catalog of models.

use std::fmt;
use std::sync::Arc;

use cupel::ContextBudget;
use cupel::gather::BoxError;
use cupel::layer::BudgetProvider;
use rig_core::DynModel;
use rig_core::catalog::{Catalog, ModelSpec};
use rig_core::completion::CompletionRequest;
use rig_core::operation::Completion;
use rig_core::providers::registry::ProviderId;

use crate::CompletionCall;

/// The model's window less what it may write.
///
/// The window comes from rig's catalog, which needs no network; the model is the one that the
/// request names, or else the one given here. What the model may write is the request's
/// `max_tokens`. A request that does not say reserves the most that the model writes, but no more
/// than a quarter of its window: some models may write as much as they read.
///
/// ```
/// use cupel::layer::BudgetProvider as _;
/// use cupel_rig::CatalogBudget;
/// use rig_core::completion::CompletionRequest;
///
/// let budget = CatalogBudget::of("openai/gpt-4o");
/// let request = CompletionRequest::new("Hello").max_tokens(1_000);
/// assert_eq!(budget.budget(&request)?.target_tokens(), 127_000);
///
/// let error = CatalogBudget::of("openai/gpt-nonsense").budget(&request).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the window of model \"openai/gpt-nonsense\" is not in the catalog; set it with \
///      CatalogBudget::window(..), or give a catalog that lists the model",
/// );
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct CatalogBudget {
    vendor: String,
    model: Option<String>,
    catalog: Option<Arc<Catalog>>,
    window: Option<u64>,
    output_reserve: Option<u64>,
    margin_percent: f64,
}

/// Without `max_tokens`, at most this part of the window is kept for the answer.
const LARGEST_RESERVE: u64 = 4;

impl CatalogBudget {
    /// The budget of a model by its catalog name, `vendor/model`.
    #[must_use]
    pub fn of(reference: &str) -> Self {
        let (vendor, model) = reference.split_once('/').unwrap_or(("", reference));
        Self::new(vendor, Some(model).filter(|model| !model.is_empty()))
    }

    /// The budget of a model as a program holds it.
    #[must_use]
    pub fn for_model(model: &DynModel<Completion>) -> Self {
        Self::new(model.name(), model.id())
    }

    fn new(vendor: &str, model: Option<&str>) -> Self {
        Self {
            vendor: vendor.to_owned(),
            model: model.map(str::to_owned),
            catalog: None,
            window: None,
            output_reserve: None,
            margin_percent: 0.0,
        }
    }

    /// Looks models up in another catalog than the one rig ships.
    #[must_use]
    pub fn catalog(mut self, catalog: Catalog) -> Self {
        self.catalog = Some(Arc::new(catalog));
        self
    }

    /// Sets the window, for a model that no catalog lists or that is served with another one.
    #[must_use]
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Sets what a request without `max_tokens` keeps for the answer.
    #[must_use]
    pub fn output_reserve(mut self, tokens: u64) -> Self {
        self.output_reserve = Some(tokens);
        self
    }

    /// Keeps so many percent of the budget free, for counts that are estimates.
    #[must_use]
    pub fn safety_margin_percent(mut self, percent: f64) -> Self {
        self.margin_percent = percent;
        self
    }

    fn spec(&self, model: &str) -> Option<&ModelSpec> {
        let catalog = self.catalog.as_deref().unwrap_or_else(|| Catalog::builtin());
        let provider = ProviderId::catalog(&self.vendor);
        // A dated snapshot has the limits of its model.
        let found = provider.and_then(|provider| catalog.find(provider, model));
        found.or_else(|| catalog.resolve(model))
    }

    fn of_request(&self, request: &CompletionRequest) -> Result<ContextBudget, BoxError> {
        let model = request.model.as_deref().or(self.model.as_deref()).unwrap_or_default();
        let spec = self.spec(model);
        let listed = spec.and_then(|spec| spec.context_window).map(u64::from);
        let window = self.window.or(listed).ok_or_else(|| self.unknown(model))?;
        let reserve = match request.max_tokens.or(self.output_reserve) {
            Some(tokens) => tokens,
            None => {
                let most = spec.and_then(|spec| spec.max_output_tokens).map(u64::from);
                most.unwrap_or(u64::MAX).min(window / LARGEST_RESERVE)
            }
        };
        if reserve > window {
            return Err(format!(
                "max_tokens is {reserve}, but the window of model {model:?} is {window}"
            )
            .into());
        }
        let tokens = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let budget = ContextBudget::builder(tokens(window))
            .output_reserve(tokens(reserve))
            .estimation_safety_margin_percent(self.margin_percent)
            .build()?;
        Ok(budget)
    }

    fn unknown(&self, model: &str) -> BoxError {
        if model.is_empty() {
            return "no model is named; name one in CatalogBudget::of(\"vendor/model\"), or set \
                    the window with CatalogBudget::window(..)"
                .into();
        }
        let name = match self.vendor.as_str() {
            "" => model.to_owned(),
            vendor => format!("{vendor}/{model}"),
        };
        format!(
            "the window of model {name:?} is not in the catalog; set it with \
             CatalogBudget::window(..), or give a catalog that lists the model"
        )
        .into()
    }
}

impl<R: CompletionCall> BudgetProvider<R> for CatalogBudget {
    fn budget(&self, call: &R) -> Result<ContextBudget, BoxError> {
        self.of_request(call.completion())
    }
}

impl fmt::Debug for CatalogBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A catalog is some thousand models.
        f.debug_struct("CatalogBudget")
            .field("vendor", &self.vendor)
            .field("model", &self.model)
            .field("window", &self.window)
            .field("output_reserve", &self.output_reserve)
            .finish_non_exhaustive()
    }
}
