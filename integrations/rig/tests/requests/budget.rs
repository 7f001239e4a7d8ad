//! Budgets from rig's catalog.

use cupel::ContextBudget;
use cupel::gather::BoxError;
use cupel::layer::BudgetProvider as _;
use cupel_rig::CatalogBudget;
use rig_core::catalog::Catalog;
use rig_core::completion::CompletionRequest;
use rig_core::driver::Model;
use rig_core::providers::openai::OpenAIConfig;
use rig_reqwest::ReqwestClient;

fn of(budget: &CatalogBudget, request: &CompletionRequest) -> Result<ContextBudget, BoxError> {
    budget.budget(request)
}

fn hello() -> CompletionRequest {
    CompletionRequest::new("Hello")
}

#[test]
fn the_window_less_what_may_be_written() {
    let spec = Catalog::builtin().resolve("openai/gpt-4o").unwrap();
    let window = i64::from(spec.context_window.unwrap());
    let budget = of(&CatalogBudget::of("openai/gpt-4o"), &hello().max_tokens(500)).unwrap();
    assert_eq!((budget.max_tokens(), budget.target_tokens()), (window, window - 500));
    // Without `max_tokens`: the most that the model writes.
    let budget = of(&CatalogBudget::of("openai/gpt-4o"), &hello()).unwrap();
    assert_eq!(budget.output_reserve(), i64::from(spec.max_output_tokens.unwrap()));
}

#[test]
fn a_model_that_may_write_its_whole_window_still_reads() {
    let catalog = r#"{"openai":{"models":{"odd":{"id":"odd","name":"Odd",
        "limit":{"context":8000,"output":8000}}}}}"#;
    let budget = CatalogBudget::of("openai/odd").catalog(Catalog::from_json(catalog).unwrap());
    assert_eq!(of(&budget, &hello()).unwrap().target_tokens(), 6_000);
    assert_eq!(of(&budget.output_reserve(100), &hello()).unwrap().target_tokens(), 7_900);
}

#[test]
fn the_request_may_name_another_model_or_a_dated_one() {
    let budget = CatalogBudget::of("openai/gpt-4o");
    let other = of(&budget, &hello().model("gpt-4").max_tokens(0)).unwrap();
    let window = Catalog::builtin().resolve("openai/gpt-4").unwrap().context_window.unwrap();
    assert_eq!(other.max_tokens(), i64::from(window));
    let dated = of(&CatalogBudget::of("openai/gpt-4o-2024-08-06"), &hello()).unwrap();
    assert_eq!(dated.max_tokens(), of(&budget, &hello()).unwrap().max_tokens());
}

#[test]
fn a_model_at_hand_says_who_it_is() {
    let model = Model::new(OpenAIConfig::new("no-key").chat("gpt-4o"), ReqwestClient::default());
    let budget = of(&CatalogBudget::for_model(&model.erase()), &hello()).unwrap();
    assert_eq!(budget.max_tokens(), 128_000);
}

#[test]
fn everything_can_be_set_and_nonsense_is_refused() {
    let set = CatalogBudget::of("local/unheard-of").window(4_096).safety_margin_percent(10.0);
    let budget = of(&set, &hello().max_tokens(96)).unwrap();
    assert_eq!((budget.target_tokens(), budget.estimation_safety_margin_percent()), (4_000, 10.0));
    let error = of(&set, &hello().max_tokens(5_000)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "max_tokens is 5000, but the window of model \"unheard-of\" is 4096"
    );
    let error = of(&CatalogBudget::of(""), &hello()).unwrap_err();
    assert!(error.to_string().starts_with("no model is named"), "{error}");
}
