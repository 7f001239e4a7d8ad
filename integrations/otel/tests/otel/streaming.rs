//! A streaming layer places in the pipeline; what it left out on the way is counted.

use std::convert::Infallible;

use cupel_otel::CupelVerbosity::{self, StageAndExclusions, StageOnly};
use tower::{Layer, ServiceExt, service_fn};

use crate::otel::common::{Exported, Request, candidates, pinned, request, streaming};
use crate::otel::tree::{expected, tree};

async fn stream(verbosity: CupelVerbosity) -> String {
    let exported = Exported::new();
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let builder = streaming().hook(exported.hook(verbosity));
    let mut asked = request();
    for item in candidates() {
        asked = asked.item(item);
    }
    builder.build().unwrap().layer(model).oneshot(asked).await.unwrap();
    tree(&exported.spans())
}

#[tokio::test(start_paused = true)]
async fn the_pipeline_has_the_one_stage_that_is_left() {
    let wanted = r#"
        cupel.selection
          cupel.gather cupel.sources=1
            cupel.source cupel.source.name="empty" cupel.source.items=0 cupel.source.tokens=0 cupel.source.outcome="completed"
          cupel.pipeline cupel.budget.max_tokens=100 cupel.verbosity="StageOnly"
            cupel.stage.place cupel.stage.name="place" cupel.stage.item_count_in=3 cupel.stage.item_count_out=3
    "#;
    assert_eq!(stream(StageOnly).await, expected(wanted));
}

#[tokio::test(start_paused = true)]
async fn what_was_left_out_on_the_way_is_counted_on_the_call() {
    let text = stream(StageAndExclusions).await;
    assert!(text.starts_with("cupel.selection cupel.exclusion.count=4\n"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_selection_that_fails_while_items_arrive_has_a_pipeline_in_error() {
    let exported = Exported::new();
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let builder = streaming().hook(exported.hook(StageOnly));
    let asked = request().item(pinned("too large", 101));
    builder.build().unwrap().layer(model).oneshot(asked).await.unwrap_err();
    let wanted = r#"
        cupel.selection error.type="PinnedExceedsBudget" error: PinnedExceedsBudget
          cupel.gather cupel.sources=1
            cupel.source cupel.source.name="empty" cupel.source.items=0 cupel.source.tokens=0 cupel.source.outcome="completed"
          cupel.pipeline cupel.budget.max_tokens=100 cupel.verbosity="StageOnly" error: PinnedExceedsBudget
    "#;
    assert_eq!(tree(&exported.spans()), expected(wanted));
}
