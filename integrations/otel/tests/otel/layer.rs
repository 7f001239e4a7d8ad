//! The whole tree of one call, beside the model's own span.

use std::convert::Infallible;

use cupel_otel::CupelVerbosity::{self, Full, StageOnly};
use opentelemetry::context::FutureExt;
use opentelemetry::trace::{TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, trace};
use tower::{Layer, ServiceExt, service_fn};

use crate::otel::common::{Exported, Request, candidates, document, layer, ms, request, slow};
use crate::otel::tree::{expected, tree};

/// One turn of an application: the call through the layer, and the model with a span of its own.
async fn turn(exported: &Exported, verbosity: CupelVerbosity, threshold: u64) {
    let tracer = exported.provider.tracer("app");
    let chat = move |_: Request| {
        let span = tracer.span_builder("chat model").with_kind(trace::SpanKind::Client);
        let context = Context::current_with_span(span.start(&tracer));
        let answer = async {
            tokio::time::sleep(ms(3)).await;
            Context::current().span().end();
            Ok::<_, Infallible>(())
        };
        answer.with_context(context)
    };
    let layer = layer()
        .source(slow("memory", ms(2)))
        .source(slow("rag", ms(4)))
        .blocking_threshold(threshold)
        .hook(exported.hook(verbosity))
        .build()
        .unwrap();
    let mut asked = request();
    for item in candidates() {
        asked = asked.item(item);
    }
    let caller = exported.app_span("turn");
    layer.layer(service_fn(chat)).oneshot(asked).with_context(caller.clone()).await.unwrap();
    caller.span().end();
}

/// The pinned item, `a`, `b` and one of the sources' documents fit.
const TURN: &str = r#"
    turn
      cupel.selection cupel.budget.max_tokens=100 cupel.tokens.fixed=0 cupel.tokens.sent=100 cupel.items.included=5 cupel.items.excluded=4
        cupel.gather cupel.sources=2
          cupel.source gen_ai.operation.name="retrieval" gen_ai.data_source.id="memory" cupel.source.name="memory" cupel.source.items=1 cupel.source.tokens=5 cupel.source.outcome="completed"
          cupel.source gen_ai.operation.name="retrieval" gen_ai.data_source.id="rag" cupel.source.name="rag" cupel.source.items=1 cupel.source.tokens=5 cupel.source.outcome="completed"
        cupel.pipeline cupel.budget.max_tokens=100 cupel.verbosity="StageOnly"
          cupel.stage.classify cupel.stage.name="classify" cupel.stage.item_count_in=9 cupel.stage.item_count_out=8
          cupel.stage.score cupel.stage.name="score" cupel.stage.item_count_in=7 cupel.stage.item_count_out=7
          cupel.stage.deduplicate cupel.stage.name="deduplicate" cupel.stage.item_count_in=7 cupel.stage.item_count_out=6
          cupel.stage.slice cupel.stage.name="slice" cupel.stage.item_count_in=6 cupel.stage.item_count_out=4
          cupel.stage.place cupel.stage.name="place" cupel.stage.item_count_in=5 cupel.stage.item_count_out=5
      chat model
"#;

#[tokio::test]
async fn a_turn_is_the_selection_and_then_the_model() {
    let exported = Exported::new();
    turn(&exported, StageOnly, u64::MAX).await;
    assert_eq!(tree(&exported.spans()), expected(TURN));
    // Siblings, one after the other.
    let (selection, chat) = (exported.span("cupel.selection"), exported.span("chat model"));
    assert_eq!(selection.parent_span_id, chat.parent_span_id);
    assert!(selection.end_time <= chat.start_time);
}

#[tokio::test]
async fn a_selection_on_the_blocking_pool_has_the_same_tree() {
    let exported = Exported::new();
    turn(&exported, StageOnly, 0).await;
    assert_eq!(tree(&exported.spans()), expected(TURN));
}

#[tokio::test]
async fn the_verbosity_is_that_of_the_collector() {
    let exported = Exported::new();
    turn(&exported, Full, u64::MAX).await;
    let text = tree(&exported.spans());
    assert_eq!(text.matches("* cupel.exclusion ").count(), 4);
    assert_eq!(text.matches("* cupel.item.included ").count(), 5);
    assert_eq!(text.matches(r#"cupel.verbosity="Full""#).count(), 1);
}

#[tokio::test]
async fn a_layer_without_sources_has_no_span_of_gathering() {
    let exported = Exported::new();
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let service = layer().hook(exported.hook(StageOnly)).build().unwrap().layer(model);
    service.oneshot(request().item(document("a", 1, 0.5))).await.unwrap();
    assert!(exported.named("cupel.gather").is_empty());
    assert_eq!(exported.spans().len(), 7);
}

#[tokio::test]
async fn the_caller_is_where_the_call_is_polled_not_where_it_was_made() {
    use tower::Service;
    let exported = Exported::new();
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let mut service = layer().hook(exported.hook(StageOnly)).build().unwrap().layer(model);
    let call = service.ready().await.unwrap().call(request());
    let caller = exported.app_span("caller");
    call.with_context(caller.clone()).await.unwrap();
    let parent = caller.span().span_context().span_id();
    assert_eq!(exported.span("cupel.selection").parent_span_id, parent);
}
