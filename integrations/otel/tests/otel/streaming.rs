//! A streaming layer that has to wait places in the pipeline; what it left out on the way is
//! counted on the call.

use std::convert::Infallible;

use cupel_otel::CupelVerbosity::StageOnly;
use tower::{Layer, ServiceExt, service_fn};

use crate::otel::common::{Exported, Request, arriving, candidates, layer, pinned, request};
use crate::otel::tree::{expected, tree};

/// The spans of a call whose candidates arrive one by one, without those of gathering.
async fn stream(items: Vec<cupel::ContextItem>) -> String {
    let exported = Exported::new();
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let builder = layer()
        .select_while_gathering(true)
        .source(arriving(items).required())
        .hook(exported.hook(StageOnly));
    let _ = builder.build().unwrap().layer(model).oneshot(request()).await;
    let mut spans = exported.spans();
    spans.retain(|span| !["cupel.gather", "cupel.source"].contains(&&*span.name));
    tree(&spans)
}

#[tokio::test]
async fn the_pipeline_has_the_one_stage_that_is_left() {
    let wanted = r#"
        cupel.selection cupel.budget.max_tokens=100 cupel.tokens.fixed=0 cupel.tokens.sent=90 cupel.items.included=3 cupel.items.excluded=4
          cupel.pipeline cupel.budget.max_tokens=100 cupel.verbosity="StageOnly"
            cupel.stage.place cupel.stage.name="place" cupel.stage.item_count_in=3 cupel.stage.item_count_out=3
    "#;
    assert_eq!(stream(candidates()).await, expected(wanted));
}

#[tokio::test]
async fn a_selection_that_fails_while_items_arrive_has_a_pipeline_in_error() {
    let wanted = r#"
        cupel.selection error.type="PinnedExceedsBudget" error: PinnedExceedsBudget
          cupel.pipeline cupel.budget.max_tokens=100 cupel.verbosity="StageOnly" error.type="PinnedExceedsBudget" error: PinnedExceedsBudget
    "#;
    assert_eq!(stream(vec![pinned("too large", 101)]).await, expected(wanted));
}
