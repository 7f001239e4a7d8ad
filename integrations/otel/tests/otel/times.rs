//! Spans lie where the work was, and last as long as the report says.

use std::convert::Infallible;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use cupel::gather::BoxError;
use cupel::layer::{
    ContextAdapter, ContextRequestAdapter, CupelLayer, Edits, RequestFacts, Split, Strategy,
};
use cupel::{ContextItem, Scorer};
use cupel_otel::CupelVerbosity::{Full, StageOnly};
use opentelemetry_sdk::trace::SpanData;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::otel::common::{
    Exported, Request, STAGES, budget, candidates, layer, ms, pipeline, request, run, slow,
};

/// Allowed difference of two clocks.
const TOLERANCE: Duration = Duration::from_millis(2);

fn lasted(span: &SpanData) -> Duration {
    span.end_time.duration_since(span.start_time).unwrap()
}

fn assert_close(ours: Duration, theirs: Duration) {
    assert!(ours.abs_diff(theirs) < TOLERANCE, "{ours:?} and {theirs:?}");
}

#[derive(Debug)]
struct Slow;

impl Scorer for Slow {
    fn score(&self, _: &ContextItem, _: &[ContextItem]) -> f64 {
        sleep(ms(10));
        0.5
    }
}

#[test]
fn a_slow_stage_has_a_long_span_and_the_others_do_not() {
    let exported = Exported::new();
    let pipeline = pipeline().scorer(Slow).build().unwrap();
    let before = SystemTime::now();
    let items = candidates();
    pipeline.run_traced(&items[1..4], &budget(200), &mut exported.collector(StageOnly)).unwrap();
    let after = SystemTime::now();
    let root = exported.span("cupel.pipeline");
    assert!(before <= root.start_time && root.end_time <= after);
    assert!(lasted(&root) >= ms(30));
    let score = lasted(&exported.span("cupel.stage.score"));
    assert!(score >= ms(30));
    assert!(lasted(&exported.span("cupel.stage.place")) < score);
}

#[test]
fn stages_follow_each_other_inside_the_root() {
    let exported = Exported::new();
    run(&mut exported.collector(Full));
    let root = exported.span("cupel.pipeline");
    let mut at = root.start_time;
    for stage in STAGES {
        let span = exported.span(stage);
        assert!(at <= span.start_time, "{stage}");
        assert!(span.start_time <= span.end_time, "{stage}");
        at = span.end_time;
        for event in span.events.iter() {
            assert!(span.start_time <= event.timestamp, "{stage}");
        }
    }
    assert!(at <= root.end_time);
    // The specification has inclusions recorded after the last stage.
    let place = exported.span("cupel.stage.place");
    assert!(place.events.iter().all(|event| event.timestamp == place.end_time));
}

#[tokio::test]
async fn durations_agree_with_the_report_of_the_call() {
    let exported = Exported::new();
    let layer = layer()
        .pipeline(pipeline().scorer(Slow).build().unwrap())
        .source(slow("quick", ms(5)))
        .source(slow("late", ms(25)))
        .hook(exported.hook(StageOnly))
        .build()
        .unwrap();
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let mut service = layer.with_report().layer(model);
    let ready = service.ready().await.unwrap();
    let (_, selection) = ready.call(request()).await.unwrap();

    for (event, stage) in selection.report.events.iter().zip(STAGES) {
        let report = Duration::from_secs_f64(event.duration_ms / 1_000.0);
        let span = exported.span(stage);
        assert_close(lasted(&span), report);
        let offset = span.start_time.duration_since(event.started_at.unwrap());
        assert_close(offset.unwrap_or_default(), Duration::ZERO);
    }
    let sources = exported.named("cupel.source");
    for (span, report) in sources.iter().zip(&selection.gather.sources) {
        assert_close(lasted(span), report.elapsed);
    }
    assert!(lasted(&sources[0]) < lasted(&sources[1]));
    let gather = exported.span("cupel.gather");
    assert_close(lasted(&gather), selection.gather.elapsed);
    // Gathering is over before selecting begins, and both are inside the call.
    let (pipeline, call) = (exported.span("cupel.pipeline"), exported.span("cupel.selection"));
    assert!(call.start_time <= gather.start_time);
    assert!(gather.end_time <= pipeline.start_time);
    assert!(pipeline.end_time <= call.end_time);
}

/// Takes its time to read a request, on the blocking pool.
struct SlowSplit;

impl ContextAdapter<Request> for SlowSplit {
    type Rest = <ContextRequestAdapter as ContextAdapter<Request>>::Rest;

    fn facts<'a>(&'a self, _: &'a Request) -> RequestFacts<'a> {
        RequestFacts::default().steps(u64::MAX)
    }

    fn split(&self, request: Request, strategy: Strategy) -> Result<Split<Self::Rest>, BoxError> {
        sleep(ms(40));
        ContextRequestAdapter.split(request, strategy)
    }

    fn join(&self, rest: Self::Rest, edits: &mut Edits) -> Result<Request, BoxError> {
        ContextRequestAdapter.join(rest, edits)
    }
}

#[tokio::test]
async fn taking_the_request_apart_is_inside_the_call_and_before_gathering() {
    let exported = Exported::new();
    let layer = CupelLayer::builder()
        .adapter(SlowSplit)
        .pipeline(pipeline().build().unwrap())
        .budget(budget(100))
        .source(slow("quick", ms(1)))
        .hook(exported.hook(StageOnly))
        .build()
        .unwrap();
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let before = SystemTime::now();
    layer.layer(model).oneshot(request()).await.unwrap();
    let (call, gather) = (exported.span("cupel.selection"), exported.span("cupel.gather"));
    assert!(before <= call.start_time);
    assert!(gather.start_time.duration_since(call.start_time).unwrap() >= ms(40));
    assert!(gather.end_time <= call.end_time);
}
