//! Errors end their spans with error status: the name of the error, never its text.

use std::convert::Infallible;
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cupel::gather::Source;
use cupel::layer::CupelLayer;
use cupel::slicer::SliceResult;
use cupel::{CupelError, ScoredItem};
use cupel_otel::CupelVerbosity::StageOnly;
use opentelemetry::trace::Status;
use tower::{Layer, ServiceExt, service_fn};

use crate::otel::common::{
    Builder, Exported, Request, Slices, budget, candidates, document, layer, ms, pinned, pipeline,
    refusing, request, slow,
};
use crate::otel::tree::{expected, tree};

#[test]
fn a_run_that_fails_in_a_stage_ends_the_stage_and_the_root_with_an_error() {
    let exported = Exported::new();
    let mut collector = exported.collector(StageOnly);
    refusing().run_traced(&candidates(), &budget(100), &mut collector).unwrap_err();
    let wanted = r#"
        cupel.pipeline cupel.budget.max_tokens=100 cupel.verbosity="StageOnly" error.type="SlicerConfig" error: SlicerConfig
          cupel.stage.classify cupel.stage.name="classify" cupel.stage.item_count_in=7 cupel.stage.item_count_out=6
          cupel.stage.score cupel.stage.name="score" cupel.stage.item_count_in=5 cupel.stage.item_count_out=5
          cupel.stage.deduplicate cupel.stage.name="deduplicate" cupel.stage.item_count_in=5 cupel.stage.item_count_out=4
          cupel.stage.slice cupel.stage.name="slice" cupel.stage.item_count_in=4 error.type="SlicerConfig" error: SlicerConfig
    "#;
    assert_eq!(tree(&exported.spans()), expected(wanted));
}

#[test]
fn a_run_that_fails_between_stages_ends_the_root_with_an_error() {
    let exported = Exported::new();
    let mut collector = exported.collector(StageOnly);
    let outcome =
        pipeline().build().unwrap().run_traced(&[pinned("p", 101)], &budget(100), &mut collector);
    outcome.unwrap_err();
    assert_eq!(exported.span("cupel.pipeline").status, Status::error("PinnedExceedsBudget"));
    assert_eq!(exported.span("cupel.stage.classify").status, Status::Unset);
    assert_eq!(exported.spans().len(), 2);
}

#[test]
fn a_run_that_panics_ends_its_spans_too() {
    let exported = Exported::new();
    let panicking =
        Slices(|_: &[ScoredItem<'_>]| -> Result<SliceResult, CupelError> { panic!("oops") });
    let pipeline = pipeline().slicer(panicking).build().unwrap();
    let mut collector = exported.collector(StageOnly);
    let items = candidates();
    let run = AssertUnwindSafe(|| pipeline.run_traced(&items, &budget(100), &mut collector));
    catch_unwind(run).unwrap_err();
    drop(collector);
    assert_eq!(exported.span("cupel.stage.slice").status, Status::error("Panicked"));
    assert_eq!(exported.span("cupel.pipeline").status, Status::error("Panicked"));
}

async fn fail(builder: Builder, request: Request) {
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    builder.build().unwrap().layer(model).oneshot(request).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_required_source_that_fails_ends_the_call_with_an_error() {
    let exported = Exported::new();
    let broken = Source::list("broken", |_: &Request| ready(Err::<Vec<_>, _>("no index")));
    let builder = layer().source(slow("other", ms(50))).source(broken.required());
    fail(builder.hook(exported.hook(StageOnly)), request()).await;
    let wanted = r#"
        cupel.selection error.type="Source" error: Source
          cupel.gather cupel.sources=2
            cupel.source gen_ai.operation.name="retrieval" gen_ai.data_source.id="other" cupel.source.name="other" cupel.source.items=0 cupel.source.tokens=0 cupel.source.outcome="abandoned"
            cupel.source gen_ai.operation.name="retrieval" gen_ai.data_source.id="broken" cupel.source.name="broken" cupel.source.items=0 cupel.source.tokens=0 cupel.source.outcome="failed" error.type="failed" error: failed
    "#;
    assert_eq!(tree(&exported.spans()), expected(wanted));
}

#[tokio::test]
async fn a_pipeline_that_fails_ends_the_call_with_its_error() {
    for threshold in [u64::MAX, 0] {
        let exported = Exported::new();
        let builder = layer().pipeline(refusing()).blocking_threshold(threshold);
        let request = request().item(document("a", 1, 0.5));
        fail(builder.hook(exported.hook(StageOnly)), request).await;
        for name in ["cupel.selection", "cupel.pipeline", "cupel.stage.slice"] {
            assert_eq!(exported.span(name).status, Status::error("SlicerConfig"), "{name}");
        }
    }
}

#[tokio::test]
async fn a_selection_that_panics_ends_its_spans_wherever_it_runs() {
    for threshold in [u64::MAX, 0] {
        let exported = Exported::new();
        let panicking =
            Slices(|_: &[ScoredItem<'_>]| -> Result<SliceResult, CupelError> { panic!("oops") });
        let builder = layer().pipeline(pipeline().slicer(panicking).build().unwrap());
        let builder = builder.blocking_threshold(threshold).hook(exported.hook(StageOnly));
        fail(builder, request().item(document("a", 1, 0.5))).await;
        for name in ["cupel.selection", "cupel.pipeline", "cupel.stage.slice"] {
            assert_eq!(exported.span(name).status, Status::error("Panicked"), "{name}");
        }
    }
}

#[tokio::test]
async fn a_call_without_a_budget_is_an_error_of_its_own() {
    let exported = Exported::new();
    let builder: Builder = CupelLayer::builder()
        .adapter(cupel::layer::ContextRequestAdapter)
        .pipeline(pipeline().build().unwrap())
        .budget(budget(10));
    fail(builder.hook(exported.hook(StageOnly)), request().fixed_tokens(11)).await;
    let wanted = r#"
        cupel.selection error.type="FixedTokens" error: FixedTokens
    "#;
    assert_eq!(tree(&exported.spans()), expected(wanted));
}

#[tokio::test(start_paused = true)]
async fn an_optional_source_that_is_late_is_an_error_of_its_own_span_only() {
    let exported = Exported::new();
    let late = slow("late", ms(500)).deadline(ms(5)).optional();
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let service = layer().source(late).hook(exported.hook(StageOnly)).build().unwrap();
    service.layer(model).oneshot(request()).await.unwrap();
    assert_eq!(exported.span("cupel.source").status, Status::error("timed_out"));
    assert_eq!(exported.span("cupel.gather").status, Status::Unset);
    assert_eq!(exported.span("cupel.selection").status, Status::Unset);
}

const CANCELLED: &str = "cupel.selection error.type=\"Cancelled\" error: Cancelled\n";

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_span() {
    let exported = Exported::new();
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let builder = layer().source(slow("slow", ms(10_000))).hook(exported.hook(StageOnly));
    let mut call = Box::pin(builder.build().unwrap().layer(model).oneshot(request()));
    assert!(futures::future::poll_immediate(&mut call).await.is_none());
    assert!(exported.spans().is_empty());
    drop(call);
    assert_eq!(tree(&exported.spans()), CANCELLED);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_runs_into_a_timeout_is_cancelled() {
    let exported = Exported::new();
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let builder = layer().source(slow("slow", ms(1_000))).hook(exported.hook(StageOnly));
    let call = builder.build().unwrap().layer(model).oneshot(request());
    tokio::time::timeout(ms(100), call).await.unwrap_err();
    assert_eq!(tree(&exported.spans()), CANCELLED);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_runs_into_a_timeout_is_no_error_of_the_selection() {
    let exported = Exported::new();
    let model = service_fn(|_: Request| futures::future::pending::<Result<(), Infallible>>());
    let builder = layer().hook(exported.hook(StageOnly));
    let call = builder.build().unwrap().layer(model).oneshot(request());
    tokio::time::timeout(ms(100), call).await.unwrap_err();
    assert_eq!(exported.span("cupel.selection").status, Status::Unset);
}
