//! A layer that is not complete, or contradicts itself, is not built; the error says what to set.

use std::time::Duration;

use cupel::gather::Source;
use cupel::layer::{BuildError, ContextRequestAdapter, CupelLayer, CupelLayerBuilder};
use cupel::{ContextItem, Policy};
use tower::{ServiceBuilder, ServiceExt};

use crate::common::{Echo, Request, budget, item, layer, layer_with, ms, pipeline, request};

fn bare() -> CupelLayerBuilder<Request, ContextRequestAdapter> {
    CupelLayer::builder().adapter(ContextRequestAdapter)
}

fn refused(builder: CupelLayerBuilder<Request, ContextRequestAdapter>) -> String {
    let error: BuildError = builder.build().unwrap_err();
    error.to_string()
}

fn source(name: &str) -> Source<Request> {
    Source::items(name, Vec::<ContextItem>::new())
}

#[test]
fn a_way_to_select_is_needed() {
    assert_eq!(
        refused(bare().budget(budget(1))),
        "CupelLayer: nothing says how to select; call .policy(..) or .pipeline(..)",
    );
}

#[test]
fn only_one_way_to_select_is_allowed() {
    assert_eq!(
        refused(layer().policy(Policy::chat())),
        "CupelLayer: both .policy(..) and .pipeline(..) are set; keep one",
    );
}

#[test]
fn a_budget_is_needed() {
    assert_eq!(
        refused(bare().pipeline(pipeline())),
        "CupelLayer: no budget is set; call .budget(..) with one or a function",
    );
}

#[test]
fn sources_need_names_of_their_own() {
    assert_eq!(
        refused(layer_with([source("notes"), source("  ")])),
        "CupelLayer: source 1 has no name; give it one",
    );
    assert_eq!(
        refused(layer_with([source("notes"), source("files"), source("notes")])),
        "CupelLayer: two sources are named \"notes\"; give each its own name",
    );
}

#[test]
fn sources_need_room_and_time() {
    assert_eq!(
        refused(layer_with([source("notes").limit(0)])),
        "CupelLayer: source \"notes\" has a limit of 0 items; leave it out",
    );
    assert_eq!(
        refused(layer_with([source("notes").deadline(Duration::ZERO)])),
        "CupelLayer: source \"notes\" has a deadline of zero; give it time, or leave it out",
    );
    assert_eq!(
        refused(layer_with([source("notes")]).gather_deadline(Duration::ZERO)),
        "CupelLayer: gather_deadline is zero, so no source could deliver",
    );
    // Without sources nobody needs the time.
    layer().gather_deadline(Duration::ZERO).build().unwrap();
}

#[test]
fn settings_can_come_in_any_order() {
    CupelLayer::<Request, _>::builder()
        .ready_after_gathering(true)
        .budget(budget(10))
        .source(source("notes"))
        .policy(Policy::rag())
        .gather_deadline(ms(5))
        .on_selection(|_: &cupel::layer::Selection| ())
        .blocking_threshold(1)
        .adapter(ContextRequestAdapter)
        .build()
        .unwrap();
}

#[tokio::test]
async fn settings_before_the_adapter_are_kept() {
    let layer = CupelLayer::<Request, _>::builder()
        .budget(budget(1))
        .source(Source::items("notes", [item("note", 1)]))
        .pipeline(pipeline())
        .adapter(ContextRequestAdapter)
        .build()
        .unwrap();
    let service = ServiceBuilder::new().layer(layer).service(Echo::default());
    assert_eq!(service.oneshot(request().item(item("long", 2))).await.unwrap(), ["note"]);
}

#[test]
fn debug_output_names_the_parts_and_not_the_items() {
    let builder = layer_with([Source::items("notes", [item("secret", 1)]).deadline(ms(5))]);
    let built = builder.build().unwrap();
    let text = format!("{built:?}");
    assert!(text.contains("notes") && text.contains("5ms"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}
