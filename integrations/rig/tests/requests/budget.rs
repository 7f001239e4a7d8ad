//! Budgets from rig's catalog.

use cupel::ContextBudget;
use cupel::gather::BoxError;
use cupel::layer::BudgetProvider as _;
use cupel_rig::{CatalogWindow, RigAdapter};
use rig_core::catalog::Catalog;
use rig_core::completion::CompletionRequest;
use rig_core::driver::Model;
use rig_core::providers::openai::OpenAIConfig;
use rig_reqwest::ReqwestClient;

fn of(window: &CatalogWindow, request: &CompletionRequest) -> Result<ContextBudget, BoxError> {
    window.budget(request)
}

fn window(model: &str) -> CatalogWindow {
    RigAdapter::for_model(model).window()
}

fn hello() -> CompletionRequest {
    CompletionRequest::new("Hello")
}

#[test]
fn the_window_less_what_may_be_written() {
    let budget = of(&window("openai/gpt-4o"), &hello().max_tokens(500)).unwrap();
    assert_eq!((budget.max_tokens(), budget.target_tokens()), (128_000, 127_500));
    // Without `max_tokens`: 4,096 tokens, or a quarter of a small window.
    let budget = of(&window("openai/gpt-4o"), &hello()).unwrap();
    assert_eq!(budget.output_reserve(), 4_096);
    assert_eq!(of(&window("openai/gpt-4"), &hello()).unwrap().output_reserve(), 8_192 / 4);
}

#[test]
fn another_catalog_may_list_other_models() {
    let catalog = r#"{"openai":{"models":{"odd":{"id":"odd","name":"Odd",
        "limit":{"context":8000,"output":8000}}}}}"#;
    let catalog = Catalog::from_json(catalog).unwrap();
    let window = RigAdapter::for_model("openai/odd").catalog(catalog).window();
    assert_eq!(of(&window, &hello()).unwrap().target_tokens(), 6_000);
    assert_eq!(of(&window.default_output(100), &hello()).unwrap().target_tokens(), 7_900);
}

#[test]
fn the_request_may_name_another_model_or_a_dated_one() {
    let gpt_4o = window("openai/gpt-4o");
    let other = of(&gpt_4o, &hello().model("gpt-4").max_tokens(0)).unwrap();
    assert_eq!(other.max_tokens(), 8_192);
    let dated = of(&window("openai/gpt-4o-2024-08-06"), &hello()).unwrap();
    assert_eq!(dated.max_tokens(), of(&gpt_4o, &hello()).unwrap().max_tokens());
}

#[test]
fn a_model_at_hand_says_who_it_is_typed_or_erased() {
    let model = Model::new(OpenAIConfig::new("no-key").chat("gpt-4o"), ReqwestClient::default());
    let typed = RigAdapter::for_model(&model).window();
    let erased = RigAdapter::for_model(&model.erase()).window();
    for window in [typed, erased] {
        assert_eq!(of(&window, &hello()).unwrap().max_tokens(), 128_000);
    }
}

#[test]
fn everything_can_be_set_and_nonsense_is_refused() {
    let set = window("local/unheard-of").tokens(4_096).safety_margin_percent(10.0);
    let budget = of(&set, &hello().max_tokens(96)).unwrap();
    assert_eq!((budget.target_tokens(), budget.estimation_safety_margin_percent()), (4_000, 10.0));
    // The window ends such an answer before its own limit does.
    assert_eq!(of(&set, &hello().max_tokens(5_000)).unwrap().output_reserve(), 1_024);
    let error = of(&window(""), &hello()).unwrap_err();
    assert!(error.to_string().starts_with("no model is named"), "{error}");
}
