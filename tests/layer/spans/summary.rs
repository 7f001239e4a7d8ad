//! The one line at INFO that a selection leaves in a log.

use std::convert::Infallible;

use cupel::gather::Source;
use cupel::{GreedySlice, Pipeline, ReflexiveScorer, UShapedPlacer};
use tower::{Layer, ServiceExt};
use tracing::Level;

use crate::common::{Echo, budget, layer_with, ms, pinned, relevant, request};
use crate::recorder::{Fields, Recorder, fields};

fn summaries(recorder: &Recorder) -> Vec<Fields> {
    recorder.read(|recorded| {
        let events = recorded.events.iter();
        let ours = events.filter(|event| event.target == "cupel" && event.level == Level::INFO);
        ours.map(|event| event.fields.clone()).collect()
    })
}

#[tokio::test(start_paused = true)]
async fn a_call_of_the_layer_leaves_one() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let broken = Source::list("broken", |_: &crate::common::Request| async {
        Err::<[cupel::ContextItem; 0], _>("a text that must not be logged")
    });
    let hangs = Source::stream("hangs", |_: &crate::common::Request| {
        futures::stream::pending::<Result<cupel::ContextItem, Infallible>>()
    });
    let sources = [
        Source::items("quick", [relevant("a", 3, 0.9), relevant("b", 1_200, 0.8)]),
        broken.optional(),
        hangs.deadline(ms(5)).optional(),
    ];
    let service = layer_with(sources).build().unwrap().layer(Echo::default());
    service.oneshot(request().item(pinned("question", 2))).await.unwrap();
    let expected = fields([
        ("cupel.candidates", 3.into()),
        ("cupel.items.included", 2.into()),
        ("cupel.tokens.sent", 5.into()),
        ("cupel.budget.max_tokens", 1_000.into()),
        ("cupel.sources.late", 1.into()),
        ("cupel.sources.failed", 1.into()),
    ]);
    assert_eq!(summaries(&recorder), [expected]);
}

#[test]
fn so_does_a_run_of_a_pipeline_and_a_dry_run_does_not() {
    let pipeline = Pipeline::builder()
        .scorer(ReflexiveScorer)
        .slicer(GreedySlice)
        .placer(UShapedPlacer)
        .build()
        .unwrap();
    let items = [relevant("a", 3, 0.9), relevant("b", 400, 0.8)];
    let (recorder, _guard) = Recorder::on_this_thread();
    pipeline.dry_run(&items, &budget(100)).unwrap();
    assert!(summaries(&recorder).is_empty());
    pipeline.run(&items, &budget(100)).unwrap();
    let summaries = summaries(&recorder);
    assert_eq!(summaries.len(), 1);
    assert_eq!(summaries[0]["cupel.tokens.sent"], 3.into());
}
