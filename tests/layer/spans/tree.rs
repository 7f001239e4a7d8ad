//! Names, fields, parents and order of the spans of one call.

use std::convert::Infallible;
use std::future::ready;

use cupel::gather::Source;
use cupel::layer::{
    ContextAdapter, ContextRequestAdapter, CupelLayer, Edits, RequestFacts, Split, Strategy,
};
use futures::stream;
use tokio::time::sleep;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tracing::{Instrument, Level};

use crate::common::{
    Echo, Request, budget, item, layer_with, ms, pinned, pipeline, relevant, request,
};
use cupel_dev::recorder::{Fields, Recorder, fields};

/// A model with a span of its own, begun in `call` and held over an await.
macro_rules! model {
    () => {
        service_fn(|_: Request| {
            async {
                sleep(ms(5)).await;
                tracing::info!("answered");
                Ok::<_, Infallible>(())
            }
            .instrument(tracing::info_span!("model"))
        })
    };
}

fn quick() -> Source<Request> {
    Source::items("quick", [relevant("a", 3, 0.9), relevant("b", 4, 0.8)])
}

/// Takes 20 ms, and says so in the middle.
fn slow() -> Source<Request> {
    Source::list("slow", |_: &Request| async {
        sleep(ms(10)).await;
        tracing::info!("half-way");
        sleep(ms(10)).await;
        Ok::<_, Infallible>([item("c", 5)])
    })
}

const STAGES: [&str; 5] = ["classify", "score", "deduplicate", "slice", "place"];

#[tokio::test(start_paused = true)]
async fn a_call_is_a_tree_of_gathering_selecting_and_the_models_own_span() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let service = layer_with([slow(), quick()]).build().unwrap().layer(model!());
    service.oneshot(request().item(pinned("question", 2))).await.unwrap();

    let mut expected = vec![
        "cupel.selection".to_owned(),
        "cupel.selection > cupel.gather".to_owned(),
        "cupel.selection > cupel.gather > cupel.source".to_owned(),
        "cupel.selection > cupel.gather > cupel.source".to_owned(),
        "cupel.selection > cupel.pipeline".to_owned(),
    ];
    expected.extend(
        STAGES.map(|stage| format!("cupel.selection > cupel.pipeline > cupel.stage.{stage}")),
    );
    expected.push("model".to_owned());
    assert_eq!(recorder.paths(), expected);
    recorder.assert_all_closed();
    recorder.read(|recorded| {
        let ours = recorded.spans.iter().filter(|span| span.name.starts_with("cupel."));
        assert!(ours.clone().count() == 10);
        assert!(ours.clone().all(|span| span.target == "cupel" && span.level == Level::INFO));
    });
}

#[tokio::test(start_paused = true)]
async fn each_span_ends_with_its_work() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let service = layer_with([slow(), quick()]).build().unwrap().layer(model!());
    service.oneshot(request()).await.unwrap();
    let log = recorder.read(|recorded| recorded.log.clone());
    let mut expected = vec![
        "+cupel.selection".to_owned(),
        "+cupel.gather".to_owned(),
        "+cupel.source".to_owned(),
        "+cupel.source".to_owned(),
        "-cupel.source".to_owned(),
        "-cupel.source".to_owned(),
        "-cupel.gather".to_owned(),
        "+cupel.pipeline".to_owned(),
    ];
    let stages =
        STAGES.iter().flat_map(|stage| ["+", "-"].map(|sign| format!("{sign}cupel.stage.{stage}")));
    expected.extend(stages);
    // The pipeline's span is over before the model's begins.
    expected.extend(["-cupel.pipeline", "-cupel.selection", "+model", "-model"].map(str::to_owned));
    assert_eq!(log, expected);
}

#[tokio::test(start_paused = true)]
async fn a_sources_span_lasts_as_long_as_the_source() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let mut service = layer_with([slow(), quick()]).build().unwrap().layer(Echo::default());
    let mut call = Box::pin(service.ready().await.unwrap().call(request()));
    assert!(futures::future::poll_immediate(&mut call).await.is_none());
    // One is done and the other is not.
    assert_eq!(recorder.closed(), ["cupel.source"]);
    recorder.read(|recorded| {
        let closed: Vec<_> = recorded.spans.iter().filter(|span| span.closed).collect();
        assert_eq!(closed[0].fields["cupel.source.name"], "quick".into());
    });
    call.await.unwrap();
    recorder.assert_all_closed();
}

/// Fields of the span of this source.
fn source_fields(recorder: &Recorder, name: &str) -> Fields {
    recorder.read(|recorded| {
        let named = recorded
            .spans
            .iter()
            .find(|span| span.fields.get("cupel.source.name") == Some(&name.into()));
        named.unwrap().fields.clone()
    })
}

fn source(name: &str, items: i64, tokens: i64, outcome: &str) -> Fields {
    let mut fields = fields([
        ("gen_ai.operation.name", "retrieval".into()),
        ("gen_ai.data_source.id", name.into()),
        ("cupel.source.name", name.into()),
        ("cupel.source.items", items.into()),
        ("cupel.source.tokens", tokens.into()),
        ("cupel.source.outcome", outcome.into()),
    ]);
    if ["failed", "panicked", "timed_out"].contains(&outcome) {
        fields.extend(failure(outcome));
    }
    fields
}

/// Fields that a span has if its work failed.
fn failure(name: &str) -> Fields {
    fields([("error.type", name.into()), ("otel.status_code", "ERROR".into())])
}

#[tokio::test(start_paused = true)]
async fn spans_carry_counts_as_integers_and_names_as_text() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let service = layer_with([slow(), quick()]).build().unwrap().layer(Echo::default());
    let asked = request().item(pinned("question", 2)).item(item("wrong", -1)).fixed_tokens(10);
    service.oneshot(asked).await.unwrap();
    // 2 tokens of the request, 5 and 7 of the sources, and 10 that are fixed.
    let sent = fields([
        ("cupel.budget.max_tokens", 1_000.into()),
        ("cupel.tokens.fixed", 10.into()),
        ("cupel.tokens.sent", 24.into()),
        ("cupel.items.included", 4.into()),
        ("cupel.items.excluded", 1.into()),
    ]);
    assert_eq!(recorder.fields_of("cupel.selection"), sent);
    assert_eq!(recorder.fields_of("cupel.gather"), fields([("cupel.sources", 2.into())]));
    assert_eq!(source_fields(&recorder, "slow"), source("slow", 1, 5, "completed"));
    assert_eq!(source_fields(&recorder, "quick"), source("quick", 2, 7, "completed"));
    assert_eq!(
        recorder.fields_of("cupel.pipeline"),
        fields([("cupel.budget.max_tokens", 990.into()), ("cupel.candidates", 5.into())]),
    );
    // The item with negative tokens goes in the first stage; the pinned one is not scored.
    let counts = [(5, 4), (3, 3), (3, 3), (3, 3), (4, 4)];
    for (stage, (items_in, items_out)) in STAGES.into_iter().zip(counts) {
        assert_eq!(
            recorder.fields_of(&format!("cupel.stage.{stage}")),
            fields([
                ("cupel.stage.name", stage.into()),
                ("cupel.stage.item_count_in", items_in.into()),
                ("cupel.stage.item_count_out", items_out.into()),
            ]),
            "{stage}",
        );
    }
}

#[tokio::test(start_paused = true)]
async fn every_outcome_of_a_source_is_on_its_span() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let hanging = |name: &'static str| {
        Source::stream(name, |_: &Request| stream::pending::<Result<_, Infallible>>()).optional()
    };
    let failing = Source::list("failing", |_: &Request| ready(Err::<Vec<_>, _>("gone")));
    let panicking = Source::stream("panicking", |_: &Request| {
        stream::poll_fn(|_| -> std::task::Poll<Option<Result<_, Infallible>>> { panic!("oops") })
    });
    let sources = [
        quick().limit(1),
        hanging("late").deadline(ms(10)),
        hanging("later"),
        failing.optional(),
        panicking.optional(),
    ];
    let layer = layer_with(sources).gather_deadline(ms(20)).build().unwrap();
    layer.layer(Echo::default()).oneshot(request()).await.unwrap();
    assert_eq!(source_fields(&recorder, "quick"), source("quick", 1, 3, "limit_reached"));
    for (name, outcome) in [
        ("late", "timed_out"),
        ("later", "timed_out"),
        ("failing", "failed"),
        ("panicking", "panicked"),
    ] {
        assert_eq!(source_fields(&recorder, name), source(name, 0, 0, outcome));
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_has_no_span_of_a_pipeline_or_a_model() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let failing = Source::list("failing", |_: &Request| ready(Err::<Vec<_>, _>("gone")));
    let service = layer_with([slow(), failing.required()]).build().unwrap().layer(model!());
    service.oneshot(request()).await.unwrap_err();
    let spans = ["cupel.selection", "cupel.gather", "cupel.source", "cupel.source"];
    assert_eq!(recorder.opened(), spans);
    assert_eq!(recorder.fields_of("cupel.selection"), failure("Source"));
    assert_eq!(source_fields(&recorder, "failing"), source("failing", 0, 0, "failed"));
    assert_eq!(source_fields(&recorder, "slow"), source("slow", 0, 0, "abandoned"));
    recorder.assert_all_closed();
}

#[tokio::test(start_paused = true)]
async fn what_sources_and_models_say_is_said_inside_their_spans() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let service = layer_with([slow()]).build().unwrap().layer(model!());
    service.oneshot(request()).await.unwrap();
    recorder.read(|recorded| {
        // Both come after an await.
        let said = |text: &str| {
            let message = cupel_dev::recorder::Value::Debug(text.to_owned());
            let event = recorded.events.iter().find(|e| e.fields.get("message") == Some(&message));
            recorded.path(event.unwrap().parent.unwrap())
        };
        assert_eq!(said("half-way"), "cupel.selection > cupel.gather > cupel.source");
        assert_eq!(said("answered"), "model");
    });
}

#[tokio::test]
async fn without_sources_there_is_no_span_of_gathering() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let service = layer_with([]).build().unwrap().layer(Echo::default());
    service.oneshot(request()).await.unwrap();
    assert_eq!(recorder.opened()[..2], ["cupel.selection", "cupel.pipeline"]);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_closes_its_spans() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let mut service = layer_with([slow()]).build().unwrap().layer(model!());
    let mut call = Box::pin(service.ready().await.unwrap().call(request()));
    assert!(futures::future::poll_immediate(&mut call).await.is_none());
    drop(call);
    assert_eq!(recorder.opened().len(), 3);
    recorder.assert_all_closed();
}

/// Says which model a request is for, and takes its time to take it apart.
struct Slow;

impl ContextAdapter<Request> for Slow {
    type Rest = <ContextRequestAdapter as ContextAdapter<Request>>::Rest;

    fn facts<'a>(&'a self, request: &'a Request) -> RequestFacts<'a> {
        RequestFacts::new(Some(request.payload))
    }

    fn split(&self, request: Request, _: Strategy) -> Result<Split<Self::Rest>, BoxError> {
        tracing::info_span!("split")
            .in_scope(|| ContextRequestAdapter.split(request, Strategy::Scored))
    }

    fn join(&self, rest: Self::Rest, edits: &mut Edits) -> Result<Request, BoxError> {
        ContextRequestAdapter.join(rest, edits)
    }
}

#[tokio::test]
async fn gathering_begins_when_the_request_has_been_taken_apart() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let layer = CupelLayer::builder().adapter(Slow).pipeline(pipeline()).budget(budget(1_000));
    let service = layer.source(quick()).build().unwrap().layer(Echo::default());
    service.oneshot(request()).await.unwrap();
    let log = recorder.read(|recorded| recorded.log.clone());
    let begun = ["+cupel.selection", "+split", "-split", "+cupel.gather", "+cupel.source"];
    assert_eq!(log[..5], begun);
    let fields = recorder.fields_of("cupel.selection");
    assert_eq!(fields["gen_ai.request.model"], "model".into());
}
