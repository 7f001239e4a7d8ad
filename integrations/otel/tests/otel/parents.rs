//! Parents of the spans of a run.

use cupel_otel::CupelVerbosity::StageOnly;
use opentelemetry::Context;
use opentelemetry::context::FutureExt;
use opentelemetry::trace::{SpanId, TraceContextExt};

use crate::otel::common::{Exported, STAGES, run};

fn parent_of_run(exported: &Exported) -> SpanId {
    let root = exported.span("cupel.pipeline");
    for stage in STAGES {
        let stage = exported.span(stage);
        assert_eq!(stage.parent_span_id, root.span_context.span_id());
        assert_eq!(stage.span_context.trace_id(), root.span_context.trace_id());
    }
    root.parent_span_id
}

fn id(context: &Context) -> SpanId {
    context.span().span_context().span_id()
}

#[test]
fn a_run_without_a_caller_is_a_trace_of_its_own() {
    let exported = Exported::new();
    run(&mut exported.collector(StageOnly));
    assert_eq!(parent_of_run(&exported), SpanId::INVALID);
}

#[test]
fn the_span_that_is_active_when_the_run_begins_is_the_parent() {
    let exported = Exported::new();
    let (made, active) = (exported.app_span("made"), exported.app_span("active"));
    let mut collector = {
        let _made = made.clone().attach();
        exported.collector(StageOnly)
    };
    let _active = active.clone().attach();
    run(&mut collector);
    assert_eq!(parent_of_run(&exported), id(&active));
}

#[test]
fn on_a_thread_without_a_span_the_parent_is_where_the_collector_was_made() {
    let exported = Exported::new();
    let caller = exported.app_span("caller");
    let mut collector = {
        let _attached = caller.clone().attach();
        exported.collector(StageOnly)
    };
    std::thread::scope(|scope| scope.spawn(|| run(&mut collector)).join().unwrap());
    assert_eq!(parent_of_run(&exported), id(&caller));
}

#[test]
fn a_given_parent_comes_before_the_active_one() {
    let exported = Exported::new();
    let (given, active) = (exported.app_span("given"), exported.app_span("active"));
    let _active = active.attach();
    run(&mut exported.collector(StageOnly).parent(given.clone()));
    assert_eq!(parent_of_run(&exported), id(&given));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_caller_stays_the_parent_across_await_points() {
    let exported = Exported::new();
    let caller = exported.app_span("caller");
    let mut collector = exported.collector(StageOnly);
    let turn = async {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        run(&mut collector);
    };
    turn.with_context(caller.clone()).await;
    assert_eq!(parent_of_run(&exported), id(&caller));
}

#[test]
fn a_run_leaves_the_active_context_as_it_was() {
    let exported = Exported::new();
    let caller = exported.app_span("caller");
    let _attached = caller.clone().attach();
    run(&mut exported.collector(StageOnly));
    assert_eq!(id(&Context::current()), id(&caller));
}
